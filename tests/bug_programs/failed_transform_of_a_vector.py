# kind: failed-transform; symptom: RuntimeError that speaks of vjp and jacrev; names: torch.func, jacrev
import torch


def energy(x):
    return (x**2).sum()  #! return x**2


print(torch.func.grad(energy)(torch.ones(3)))  #< cause
