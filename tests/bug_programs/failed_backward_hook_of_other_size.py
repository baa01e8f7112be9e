# kind: failed-backward; symptom: RuntimeError that speaks of an unknown hook; names: crop, hidden
import torch

torch.manual_seed(0)
weight = torch.rand(3, requires_grad=True)
hidden = weight * torch.rand(3)


def crop(g):
    return g.clamp(max=0.5)  #! return g[:2]


hidden.register_hook(crop)  #< cause
hidden.sum().backward()
print(weight.grad)
