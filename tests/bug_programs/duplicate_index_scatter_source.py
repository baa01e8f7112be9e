# kind: duplicate-index; symptom: entries that gradients reach do not count; names: owner, duplicate
import torch

torch.manual_seed(0)
votes = torch.randn(6, requires_grad=True)
owner = torch.tensor([1, 0, 1, 2, 0, 1])
share = torch.softmax(votes, 0)
table = torch.zeros(3).scatter_add(0, owner, share)  #! table = torch.zeros(3).scatter(0, owner, share)
loss = -(table * torch.log(table + 1e-9)).sum()
loss.backward()
