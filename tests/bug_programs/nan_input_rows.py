# kind: nan-input; symptom: the loss is nan after the second layer; names: rows, inf
import torch

torch.manual_seed(0)
rows = torch.randn(8, 4)
rows[5, 1] = 1e3  #! rows[5, 1] = float("inf")
rows = rows * 1.0
first = torch.randn(4, 6, requires_grad=True)
second = torch.randn(6, 1, requires_grad=True)
loss = (torch.relu(rows @ first) @ second).pow(2).mean() * 1e-6
loss.backward()
