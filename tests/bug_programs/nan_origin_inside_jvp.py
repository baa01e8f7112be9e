# kind: nan-origin; symptom: the weights turn into NaN; names: program.py:11
import torch

torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
optimizer = torch.optim.Adam([w])


def field(x):
    h = (x * w).sum()
    return torch.log(h * h + 1)  #! return torch.log(h - h)


for step in range(3):
    optimizer.zero_grad()
    x = torch.rand(3)
    value, tangent = torch.func.jvp(field, (x,), (torch.ones(3),))
    loss = tangent.pow(2) + value
    loss.backward()
    optimizer.step()
