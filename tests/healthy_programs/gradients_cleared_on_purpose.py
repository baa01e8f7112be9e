"""Gradients that are cleared unused on purpose, in every step or at first, beside steps that find theirs."""

import torch

torch.manual_seed(0)
net, probe, other = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2), torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
probing = torch.optim.SGD(probe.parameters(), lr=0.1)
lbfgs = torch.optim.LBFGS(other.parameters(), lr=0.1, max_iter=2)


def closure():
    lbfgs.zero_grad()
    loss = (other(torch.ones(3, 2)) - 1).square().mean()
    loss.backward()
    return loss


norms = []
for step in range(6):
    x = torch.randn(8, 4)
    net(x).square().mean().backward()  # for its norm alone
    norms.append(sum(float(p.grad.norm()) for p in net.parameters()))
    optimizer.zero_grad()
    (other(net(x)) - 1).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    loss = (probe(x) - net(x).detach()).square().mean()
    loss.backward()
    if step < 2:  # warm-up
        probing.zero_grad()
    probing.step()
    probing.zero_grad()
    lbfgs.zero_grad()
    lbfgs.step(closure)
    lbfgs.zero_grad()
print(len(norms))
