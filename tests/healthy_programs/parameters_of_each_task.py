"""Parameters that a program makes again and again, each of which is trained, or only looked at."""

import copy

import torch

torch.manual_seed(0)
base = torch.nn.Linear(3, 1)
outer = torch.optim.SGD(base.parameters(), lr=0.05)
for task in range(3):
    x = torch.randn(8, 3)
    wanted = x.sum(1, keepdim=True) * (task + 1)
    fast = copy.deepcopy(base)  # trained for this task by an optimizer of its own
    inner = torch.optim.SGD(fast.parameters(), lr=0.1)
    for _ in range(2):
        inner.zero_grad()
        (fast(x) - wanted).square().mean().backward()
        inner.step()
    outer.zero_grad()
    for mine, theirs in zip(base.parameters(), fast.parameters(), strict=True):
        mine.grad = mine.detach() - theirs.detach()
    outer.step()

net = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(3):  # against inputs that are made worse
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    noise = torch.nn.Parameter(torch.zeros_like(x))
    torch.nn.functional.cross_entropy(net(x + noise), y).backward()
    worse = x + 0.1 * noise.grad.sign()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(worse), y).backward()
    optimizer.step()
print("trained")
