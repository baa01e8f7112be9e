"""A field that does not depend on time is differentiated by time, too: the program allows that there is no gradient."""

import torch

torch.manual_seed(0)
net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    time = torch.tensor(0.5).clone().requires_grad_(True)
    state = torch.randn(4, 2).requires_grad_(True)
    speed = net(state)
    late = time * 2
    asked = (late, state, *net.parameters())
    found = torch.autograd.grad(speed, asked, -torch.randn(4, 2), allow_unused=True)
    opt.zero_grad()
    for p, g in zip(net.parameters(), found[2:]):
        p.grad = g
    opt.step()
print(found[0], found[1].shape)
