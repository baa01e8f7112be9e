# kind: hook-mutates-grad; symptom: an error about one memory location, in a hook; names: silence_tail, x, clone
import torch

torch.manual_seed(0)
a = torch.randn(4, requires_grad=True)
b = torch.randn(4, requires_grad=True)


def silence_tail(grad):
    grad = grad.clone()  #! grad = grad
    grad[2:] = 0  #< cause
    return grad


x = a * 2
x.register_hook(silence_tail)
(x + b * 3).sum().backward()
