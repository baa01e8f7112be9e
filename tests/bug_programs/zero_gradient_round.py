# kind: zero-gradient; symptom: the weights never change; names: round, weight
import torch

torch.manual_seed(0)
weight = torch.randn(4, 3, requires_grad=True)
x, y = torch.randn(10, 3), torch.randn(10, 4)
opt = torch.optim.SGD([weight], lr=0.1)
for step in range(3):
    scaled = weight * 7
    levels = scaled + (torch.round(scaled) - scaled).detach()  #! levels = torch.round(scaled)
    loss = ((x @ (levels / 7).t() - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
