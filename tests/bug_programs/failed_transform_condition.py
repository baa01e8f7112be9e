# kind: failed-transform; symptom: RuntimeError that speaks of control flow; names: vmap, torch.where
import torch


def ramp(x):
    if x.shape[0] > 1:  #! if x.sum() > 1:
        return x * 2
    return x


print(torch.func.vmap(ramp)(torch.ones(2, 3)))
