"""A value network updated by gradients that autograd.grad gives; its .grad stays empty, and the targets are cut off."""

import torch

torch.manual_seed(0)
q = [torch.randn(4, 8).mul(0.3).requires_grad_(True), torch.randn(8, 2).mul(0.3).requires_grad_(True)]


def value(s):
    return torch.tanh(s @ q[0]) @ q[1]


history = []
for step in range(4):
    s, s2, r = torch.randn(6, 4), torch.randn(6, 4), torch.randn(6)
    target = r + 0.9 * value(s2).max(1).values.detach()
    loss = ((value(s)[:, 0] - target) ** 2).mean()
    grads = torch.autograd.grad(loss, q)
    with torch.no_grad():
        for p, g in zip(q, grads):
            p -= 0.05 * g
    for p in q:
        if p.grad is not None:
            p.grad = None
    history.append(loss.item())
print("finite", all(value < 1e6 for value in history))
