# kind: nondeterminism; symptom: two runs with one seed are not equal; names: random.uniform, random.seed
import random
import torch


def strength():
    return shared.uniform(0.1, 0.9)  #! return random.uniform(0.1, 0.9)


shared = random.Random()
inputs = torch.linspace(0, 1, 6)


def run():
    torch.manual_seed(0)
    shared.seed(0)
    w = torch.randn(6, requires_grad=True)
    for _ in range(2):
        loss = ((inputs * strength() + w) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return w.detach()


assert torch.equal(run(), run())
