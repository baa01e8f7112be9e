# kind: nan-origin; symptom: NaN in spite of an epsilon; names: sqrt, 1e-06, too small
import torch

level = torch.tensor([-0.25, 1.0], requires_grad=True)
height = torch.sqrt(level.clamp(min=1e-3))  #! height = torch.sqrt(level + 1e-6)
height.sum().backward()
print(level.grad)
