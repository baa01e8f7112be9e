# kind: broken-chain; symptom: the start of all tasks never moves; names: meta, detach
import torch

torch.manual_seed(0)
meta = torch.randn(3, 1, requires_grad=True)
optimizer = torch.optim.Adam([meta], lr=1e-2)
for _ in range(2):
    optimizer.zero_grad()
    for _ in range(2):
        slope, fast = torch.randn(3, 1), meta
        for _ in range(2):
            x = torch.randn(8, 3)
            inner = ((x @ fast - x @ slope) ** 2).mean()
            (g,) = torch.autograd.grad(inner, fast, create_graph=True)
            fast = fast - 0.05 * g  #! fast = (fast - 0.05 * g).detach().requires_grad_()
        x = torch.randn(8, 3)
        ((x @ fast - x @ slope) ** 2).mean().backward()
    optimizer.step()
