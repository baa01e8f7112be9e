# kind: exploding; symptom: w overflows; names: matmul, to be trained through, w
import torch

torch.manual_seed(0)
w = (torch.randn(4, 4) * 0.5).requires_grad_(True)  #! w = (torch.randn(4, 4) * 6).requires_grad_(True)
optimizer = torch.optim.SGD([w], lr=1e-12)
for step in range(3):
    x = torch.randn(8, 4, requires_grad=True)
    h = x
    for k in range(8):
        h = h @ w  #< cause
    (g,) = torch.autograd.grad(h.sum(), x, create_graph=True)
    loss = (g.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
