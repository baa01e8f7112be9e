# kind: nan-origin; symptom: all weights are infinite after one step; names: sqrt, backward
import torch

torch.manual_seed(0)
w = torch.rand(3)


def cost(p, x):
    s = (p * x).sum()
    return torch.sqrt(s - s.detach() + 1e-3) + s  #! return torch.sqrt(s - s.detach()) + s


for step in range(3):
    x = torch.rand(3)
    g = torch.func.grad(cost)(w, x)
    w = w - 0.01 * g
print(w)
