# kind: graph-growth; symptom: memory grows from step to step; names: energy, drift, energy.detach() and drift.detach()
import torch

torch.manual_seed(0)
spring = torch.randn(4, 1, requires_grad=True)
opt = torch.optim.SGD([spring], lr=0.01)
rows = []
for turn in range(6):
    end = torch.randn(8, 4) @ spring
    energy = end.square().mean()
    drift = (end - 1).abs().mean()
    opt.zero_grad()
    (energy + drift).backward()
    opt.step()
    rows.append((energy.item(), drift.item()))  #! rows.append((energy, drift))
