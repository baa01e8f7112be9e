# kind: nan-origin; symptom: the loss is NaN as soon as one row is empty; names: row.sum(), div
import torch

torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
data = torch.rand(5, 3)
data[2] = 0.0


def spread(row):
    return (row / row.sum().clamp(min=1e-6)).pow(2).sum()  #! return (row / row.sum()).pow(2).sum()


for step in range(3):
    optimizer.zero_grad()
    loss = torch.func.vmap(spread)(data * w).mean()
    loss.backward()
    optimizer.step()
