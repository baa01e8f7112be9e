"""First-order meta-learning: inner steps of a fixed size whose gradients count as constants, on purpose."""

import torch

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.05)
for _ in range(3):
    opt.zero_grad()
    for _ in range(2):
        x = torch.randn(6, 3)
        y = torch.tanh(x.sum(1, keepdim=True))
        fast = [w, b]
        for _ in range(2):
            inner = ((torch.tanh(x @ fast[0] + fast[1]) - y) ** 2).mean()
            fast = [p - 0.1 * g for p, g in zip(fast, torch.autograd.grad(inner, fast), strict=True)]
        ((torch.tanh(x @ fast[0] + fast[1]) - y) ** 2).mean().backward()
    opt.step()
    print(w.detach().norm().item())
