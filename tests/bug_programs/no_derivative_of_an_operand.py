# kind: no-derivative; symptom: NotImplementedError in backward; names: igamma, detach
import torch

torch.manual_seed(0)
shape = torch.ones(3, requires_grad=True)
limit = torch.ones(3, requires_grad=True)
mass = torch.igamma(shape.detach(), limit)  #! mass = torch.igamma(shape, limit)
mass.sum().backward()
print(limit.grad)
