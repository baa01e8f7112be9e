# kind: nan-origin; symptom: every gradient is NaN; names: log, h - h
import torch

torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
data = torch.rand(5, 3)
for step in range(3):
    optimizer.zero_grad()
    h = data * w
    rows = torch.log(h + 1)  #! rows = torch.log(h - h)
    loss = torch.func.vmap(lambda row: row.pow(2).sum())(rows).mean()
    loss.backward()
    optimizer.step()
