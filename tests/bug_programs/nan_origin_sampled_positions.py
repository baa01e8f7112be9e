# kind: nan-origin; symptom: the sampler's position is NaN from the second step on; names: sqrt, 1e-12
import torch

anchors = torch.tensor([[0.0, 0.0], [1.0, 2.0]])


def potential(q):
    distance = torch.sqrt(((q - anchors) ** 2).sum(1) + 1e-6)  #! distance = torch.sqrt(((q - anchors) ** 2).sum(1))
    return ((distance - 1.0) ** 2).sum()


def force(q):
    q = q.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(potential(q), q)
    return -g


q, p = torch.zeros(2), torch.ones(2)
for step in range(4):
    p = p + 0.1 * force(q)
    q = q + 0.1 * p
print(q.tolist())
