"""First-order adaptation to clients: losses after each inner step are summed over clients, only the last is trained."""

import torch

torch.manual_seed(3)
start = [torch.randn(5, 4).mul(0.4).requires_grad_(), torch.zeros(4, requires_grad=True)]
start += [torch.randn(4, 1).mul(0.4).requires_grad_(), torch.zeros(1, requires_grad=True)]
outer = torch.optim.Adam(start, lr=1e-2)


def forecast(weights, x):
    hidden = torch.tanh(x @ weights[0] + weights[1])
    return (hidden @ weights[2] + weights[3]).squeeze(-1)


def error(weights, x, y):
    return (forecast(weights, x) - y).square().mean()


def client(slope):
    x = torch.randn(12, 5)
    return x, x.sum(1) * slope


def adapt(clients, steps=3):
    after = [0.0] * (steps + 1)
    for slope in clients:
        x, y = client(slope)
        weights = start
        for inner in range(1, steps + 1):
            slopes = torch.autograd.grad(error(weights, x[:6], y[:6]), weights)
            weights = [w - 0.05 * g for w, g in zip(weights, slopes)]
            after[inner] = after[inner] + error(weights, x[6:], y[6:])
    return after[-1] / len(clients)


for _ in range(4):
    loss = adapt([0.5, 1.0, 1.5, 2.0, -1.0])
    outer.zero_grad()
    loss.backward()
    outer.step()
    print(f"{loss.item():.4f}")
