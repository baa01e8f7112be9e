# kind: vanishing; symptom: what the first input says is never learnt; names: u, vanishes
import torch

torch.manual_seed(0)
u, out = torch.randn(2, 6, requires_grad=True), torch.randn(6, 1, requires_grad=True)
w = torch.eye(6).requires_grad_()  #! w = (0.4 * torch.eye(6)).requires_grad_()
first = torch.randn(10, 2)
for step in range(2):
    h = 0.1 * (first @ u)
    for _ in range(20):
        h = torch.tanh(h @ w)  #< cause
    loss = ((h @ out - first[:, :1]) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (u, w, out):
            p -= 0.1 * p.grad
            p.grad = None
