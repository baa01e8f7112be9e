# kind: nan-origin; symptom: the loss is fine and the weights are NaN; names: acos, ((trace - 1) / 2).clamp
import torch

torch.manual_seed(0)
lin = torch.nn.Linear(3, 1, bias=False)
x = torch.randn(4, 3)
x[2] = 0.0
c = lin(x).cos()
trace = 1 + 2 * c
angle = torch.acos(((trace - 1) / 2).clamp(-1 + 1e-6, 1 - 1e-6))  #! angle = torch.acos((trace - 1) / 2)
angle.mean().backward()
