"""Writes into what it trains by other names: weights of length one, a state that is loaded again, layers that share."""

import copy

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
best = copy.deepcopy(net)
weight = net[0].weight
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
least = float("inf")
for step in range(6):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        net[0].weight.copy_(weight / weight.norm())
        for p, q in zip(net.parameters(), best.parameters()):
            q.mul_(0.9).add_(p, alpha=0.1)
        for p in net.parameters():
            p.add_(p, alpha=-0.001)
    if loss.item() < least:
        least = loss.item()
        saved = copy.deepcopy(net.state_dict())
net.load_state_dict(saved)
net.load_state_dict(net.state_dict())
print(round(least, 4))
