# kind: nan-origin; symptom: the fitted centre is NaN; names: sqrt
import torch

points = torch.tensor([[1.0, 2.0], [0.0, 0.0], [2.0, 1.0]])
centre = torch.zeros(2, requires_grad=True)


def spread():
    gap = points - centre
    return (gap**2).sum(1).add(1e-6).sqrt().sum()  #! return (gap**2).sum(1).sqrt().sum()


(slope,) = torch.autograd.grad(spread(), centre)
with torch.no_grad():
    centre -= 0.1 * slope
print(centre.tolist())
