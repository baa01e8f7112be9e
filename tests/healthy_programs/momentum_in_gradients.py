"""Gradients that are decayed in place of cleared, which makes a momentum of them: in place, anew, or all at once."""

import torch

torch.manual_seed(0)
heavy, fresh = torch.zeros(3, requires_grad=True), torch.ones((), requires_grad=True)
spread = [torch.nn.Parameter(torch.randn(2, 3)), torch.nn.Parameter(torch.zeros(2))]
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    x = torch.randn(8, 3)
    if heavy.grad is not None:
        heavy.grad.mul_(0.9)
    fresh.grad = None if fresh.grad is None else 0.5 * fresh.grad
    (x @ heavy * fresh - x.sum(1)).square().mean().backward()
    (x @ spread[0].t() + spread[1] - x[:, :2]).abs().mean().backward()
    (net(x) - 1.0).square().mean().backward()
    with torch.no_grad():
        heavy -= 0.01 * heavy.grad
        fresh -= 0.01 * fresh.grad
        gradients = [one.grad for one in spread]
        for one, gradient in zip(spread, gradients):
            one.add_(gradient, alpha=-0.1)
        for gradient in gradients:
            gradient /= 2
    optimizer.step()
    for one in net.parameters():
        one.grad = one.grad.mul(0.9)
for _ in range(3):  # and bounds that are assigned before the step
    optimizer.zero_grad()
    (net(torch.randn(8, 3)) - 1.0).square().mean().backward()
    for one in net.parameters():
        one.grad = one.grad.clamp(-1.0, 1.0)
    optimizer.step()
print(net.weight.detach().shape)
