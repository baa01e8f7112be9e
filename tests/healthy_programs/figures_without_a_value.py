"""Prints figures that are NaN or infinite for some batches, of which nothing is trained."""

import torch

torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)


def both(p, x):
    h = p * x
    return torch.stack([h.pow(2).sum(), torch.log(h.detach() - h.detach()).sum()])


def with_more(p, x):
    h = p * x
    return h.pow(2).sum(), (h, torch.log(h - h))


for step in range(3):
    x = torch.rand(3)
    jacobian = torch.func.jacrev(both)(w.detach(), x)[0]
    slope, (_, logarithm) = torch.func.grad(with_more, has_aux=True)(w.detach(), x)
    loss = (jacobian * w).sum() + (slope * w).sum() + both(w, x)[0]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    h = (x * w).detach()
    print(float(logarithm.mean()), float(torch.sqrt(-h).mean()), float(h.sum() / (h - h).sum()))
