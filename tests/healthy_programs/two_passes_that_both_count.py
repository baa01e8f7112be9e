"""Passes whose gradients add up on purpose: two losses of one input, and one pass of which all is used."""

import torch

F = torch.nn.functional
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
shift = torch.zeros(9, 4)
for turn in range(4):
    x, label = torch.randn(9, 4, requires_grad=True), torch.randint(3, (9,))
    optimizer.zero_grad()
    F.cross_entropy(net(x), label).backward()
    net(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    shift.requires_grad_(True)
    F.cross_entropy(net(x.detach() + shift), label).backward()  # trains both, as free adversarial training does
    optimizer.step()
    shift = (shift + 0.05 * shift.grad.sign()).clamp(-0.1, 0.1).detach()
    if turn == 1:
        for p in net[0].parameters():  # frozen from here on, without a gradient that would move it
            p.requires_grad_(False)
            p.grad = None
print(bool(shift.isfinite().all()))
