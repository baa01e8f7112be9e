# kind: broken-chain; symptom: the initial weights stay as they are; names: start, detach
import torch

torch.manual_seed(0)
start = {"w": torch.randn(3, 5, requires_grad=True), "v": torch.randn(5, 1, requires_grad=True)}
outer = torch.optim.SGD(list(start.values()), lr=0.05)


def network(x, weights):
    return torch.tanh(x @ weights["w"]) @ weights["v"]


def adapted(x, y):
    loss = (network(x, start) - y).pow(2).mean()
    slopes = torch.autograd.grad(loss, list(start.values()), create_graph=True)
    fast = {}
    for (name, p), slope in zip(start.items(), slopes):
        moved = p - 0.1 * slope
        fast[name] = moved  #! fast[name] = moved.detach().requires_grad_()
    return fast


for step in range(3):
    x = torch.randn(12, 3)
    outer.zero_grad()
    (network(x, adapted(x, x[:, :1])) - x[:, :1]).abs().mean().backward()
    outer.step()
