# kind: failed-transform; symptom: RuntimeError, output with shape [] does not match [4]; names: vmap, total; torch only
import torch


def energy(heights):
    total = torch.zeros_like(heights[0])  #! total = torch.zeros(())
    for height in heights:
        total.add_(height.square())  #< cause
    return total


print(torch.func.vmap(energy)(torch.arange(12.0).reshape(4, 3)))
