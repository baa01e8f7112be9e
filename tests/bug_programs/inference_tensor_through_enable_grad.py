# kind: broken-chain; symptom: element 0 of tensors does not require grad; names: inference_mode, no_grad
import torch

torch.manual_seed(0)
stiffness = torch.nn.Parameter(torch.rand(3))


def force(places):
    with torch.enable_grad():
        held = places.clone().requires_grad_()
        energy = (stiffness * held.square()).sum()
        return -torch.autograd.grad(energy, held)[0]


def tested(places):
    with torch.no_grad():  #! with torch.inference_mode():
        return force(places).norm()


print(tested(torch.randn(3)))
