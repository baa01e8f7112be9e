# kind: exploding; symptom: the loss is nan in the second step; names: w
import torch

torch.manual_seed(0)
w = torch.randn(6, 6) * 0.3  #! w = torch.randn(6, 6) * 1.4
w.requires_grad_()
u = torch.randn(2, 6, requires_grad=True)
for _ in range(2):
    h = torch.randn(5, 2) @ u
    for _ in range(30):
        h = h @ w  #< cause
    loss = h.mean()
    w.grad = u.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 1e-6 * w.grad
        u -= 1e-6 * u.grad
