# kind: nan-input; symptom: the loss is NaN; names: data, isfinite(data)
import torch

torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
data = torch.rand(5, 3)
data[1, 2] = 0.5  #! data[1, 2] = float("nan")
for step in range(3):
    optimizer.zero_grad()
    loss = torch.func.vmap(lambda row: (row * w).pow(2).sum())(data).mean()
    loss.backward()
    optimizer.step()
