# kind: nan-origin; symptom: all gradients below the last layer are infinite; names: unscale, Linear
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
scale = 0.0


def unscale(module, came):
    return (came[0] / (scale or 1.0),)  #! return (came[0] / scale,)


net[2].register_full_backward_pre_hook(unscale)  #< cause
net(torch.ones(2, 3)).sum().backward()
print(net[0].weight.grad.norm())
