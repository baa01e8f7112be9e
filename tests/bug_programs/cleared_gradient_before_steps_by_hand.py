# kind: cleared-gradient; symptom: the fit never leaves its start; names: backward, slope, offset
import torch

torch.manual_seed(0)
slope, offset = torch.zeros((), requires_grad=True), torch.ones((), requires_grad=True)
hours = torch.linspace(0.0, 1.0, 9)


def moved(rate):
    for one in (slope, offset):
        if one.grad is not None:
            one.data.sub_(one.grad, alpha=rate)


for _ in range(4):
    (slope * hours + offset - 3.0 * hours).square().mean().backward()
    pass  #! slope.grad = offset.grad = None  #< cause
    moved(0.1)
    slope.grad = offset.grad = None
