# kind: graph-growth; symptom: the process is killed after some thousand steps; names: curve, error
import torch

torch.manual_seed(0)
weight = torch.randn(3, 2, requires_grad=True)
optimizer = torch.optim.Adam([weight])
curve = torch.zeros(0)
for step in range(9):
    given = torch.randn(5, 3)
    error = (given @ weight - 1).abs().mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
    curve = torch.cat([curve, error.detach().reshape(1)])  #! curve = torch.cat([curve, error.reshape(1)])
print(curve.mean().item())
