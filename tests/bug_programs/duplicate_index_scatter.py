# kind: duplicate-index; symptom: only the last message of each node arrives; names: place, index_add; torch only
import torch

torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True)
target = torch.tensor([1, 1, 3, 0])
message = torch.randn(4, 3) @ w
place = target[:, None].expand(4, 3)
out = torch.zeros(4, 3).scatter_add(0, place, message)  #! out = torch.zeros(4, 3).scatter(0, place, message)
out.pow(2).sum().backward()
