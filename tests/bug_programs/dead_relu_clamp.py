# kind: dead-relu; symptom: the lower layer does not learn; names: clamp, lower, inactive
import torch

torch.manual_seed(0)
lower = torch.rand(4, 8, requires_grad=True)
upper = torch.rand(8, 1, requires_grad=True)
bias = torch.zeros(1, requires_grad=True)
shift = 0.5  #! shift = 9.0
x = torch.rand(12, 4)
hidden = (x @ lower - shift).clamp(min=0)  #< cause
loss = ((hidden @ upper + bias - 1.0) ** 2).mean()
loss.backward()
