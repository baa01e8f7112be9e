# kind: hook-mutates-grad; symptom: the gradient of another branch is scaled as well; names: halve
import torch

w = torch.ones(3, requires_grad=True)
a = w * 2.0
b = w * 3.0


def halve(grad):
    return grad * 0.5  #! grad.mul_(0.5)


a.register_hook(halve)
loss = ((a + b) ** 2).sum()
loss.backward()
