"""A critic of straight pieces with a penalty on its slope; inner steps of such a net; curved features before one."""

import torch

torch.manual_seed(0)
critic = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LeakyReLU(), torch.nn.Linear(8, 1))
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
both = torch.optim.Adam([*critic.parameters(), *net.parameters()], lr=0.01)
for _ in range(3):
    x, t = torch.rand(6, 3, requires_grad=True), torch.rand(6, 1, requires_grad=True)
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).square().mean()
    (turned,) = torch.autograd.grad((slope * x).sum(), x, create_graph=True)
    steep = torch.autograd.grad(penalty, [*critic.parameters()], create_graph=True, allow_unused=True)
    u = net(torch.cat([t.sin(), t * t], 1))
    (first,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), t, create_graph=True)
    loss = critic(x).mean() + penalty + turned.square().mean() + (second + u).square().mean()
    loss = loss + sum(one.square().sum() for one in steep if one is not None)
    both.zero_grad()
    loss.backward()
    both.step()
print(bool(loss.detach().isfinite()))
