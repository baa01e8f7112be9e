"""Two optimizers of one loss, of which one steps more often and the other adds up; a shared part with two losses."""

import torch

torch.manual_seed(0)
body, head = torch.nn.Linear(4, 5), torch.nn.Linear(5, 1)
often, seldom = torch.optim.SGD(head.parameters(), lr=0.05), torch.optim.SGD(body.parameters(), lr=0.05)
for step in range(6):
    x = torch.randn(7, 4)
    (head(torch.tanh(body(x))) - x.mean(1, keepdim=True)).square().mean().backward()
    often.step()
    often.zero_grad()
    if step % 3 == 2:
        seldom.step()
        seldom.zero_grad()

trunk, left, right = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
shared = torch.optim.Adam(trunk.parameters(), lr=1e-2)
ends = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=1e-2)
for _ in range(3):
    x = torch.randn(6, 3)
    torch.nn.functional.cross_entropy(left(trunk(x)), torch.arange(6) % 2).backward()
    (right(trunk(x)) - 1.0).abs().mean().backward()
    for optimizer in (shared, ends):
        optimizer.step()
        optimizer.zero_grad()
print("trained")
