# kind: nan-origin; symptom: the gradient of one weight is infinite; names: one of, halve, unscale
import torch

w = torch.ones(3, requires_grad=True)
scale = 0.0


def halve(grad):
    return grad * 0.5


def unscale(grad):
    return grad / (scale or 1.0)  #! return grad / scale


w.register_hook(halve)  #< cause
w.register_hook(unscale)
(w * 2.0).sum().backward()
print(w.grad)
