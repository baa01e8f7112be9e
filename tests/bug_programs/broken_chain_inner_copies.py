# kind: broken-chain; symptom: the meta parameters never move; names: meta, detach
import torch

torch.manual_seed(0)
meta = torch.randn(4, 1, requires_grad=True)
optimizer = torch.optim.Adam([meta], lr=0.01)
for step in range(3):
    total = 0.0
    for task in range(2):
        truth, near, far = torch.randn(4, 1), torch.randn(8, 4), torch.randn(8, 4)
        inner = (near @ meta - near @ truth).pow(2).mean()
        (slope,) = torch.autograd.grad(inner, meta, create_graph=True)
        fast = meta - 0.1 * slope  #! fast = (meta - 0.1 * slope).detach().requires_grad_()
        total = total + (far @ fast - far @ truth).pow(2).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
