# kind: optimizer-mismatch; symptom: the start of all tasks never moves; names: copy, 1 tensor
import torch

torch.manual_seed(0)
meta = torch.randn(3, 1, requires_grad=True)
optimizer = torch.optim.Adam([meta], lr=1e-2)  #! optimizer = torch.optim.Adam([meta.detach().clone().requires_grad_()])
for _ in range(3):
    optimizer.zero_grad()
    slope, x = torch.randn(3, 1), torch.randn(8, 3)
    inner = ((x @ meta - x @ slope) ** 2).mean()
    (g,) = torch.autograd.grad(inner, meta, create_graph=True)
    ((x @ (meta - 0.05 * g) - x @ slope) ** 2).mean().backward()
    optimizer.step()
