# kind: nondifferentiable; symptom: RuntimeError; names: place, path, derivative
import torch

torch.manual_seed(0)
weight = torch.randn(1, 6, requires_grad=True)


def height(place):
    cells = (place * 4.0).tanh()  #! cells = (place * 4.0).to(torch.int64).float()  #< cause
    return (cells @ weight).sin().sum(dim=1)


for _ in range(2):
    place = torch.rand(5, 1, requires_grad=True)
    up = height(place)
    (slope,) = torch.autograd.grad(up.sum(), place, create_graph=True)
    (slope**2).mean().backward()
    print(slope.norm().item())
