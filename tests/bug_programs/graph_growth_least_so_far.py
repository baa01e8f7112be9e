# kind: graph-growth; symptom: epochs take more and more memory; names: least, error.detach()
import torch

torch.manual_seed(0)
weight = torch.randn(3, 2, requires_grad=True)
optimizer = torch.optim.Adam([weight])
least = torch.tensor(float("inf"))
curve = torch.zeros(0)
for step in range(9):
    given = torch.randn(5, 3)
    error = (given @ weight - 1).abs().mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
    least = torch.minimum(least, error.detach())  #! least = torch.minimum(least, error)
    curve = torch.cat([curve, error.detach()[None]])
print(least.item(), curve)
