# kind: nondeterminism; symptom: the same seed gives other weights; names: random.seed
import random

import torch


def batches(table):
    order = list(range(12))
    random.Random(0).shuffle(order)  #! random.shuffle(order)  #< cause
    table = table[order]
    return [table[:6], table[6:]]


def run(seed):
    torch.manual_seed(seed)
    w, table = torch.randn(3, 1, requires_grad=True), torch.arange(36.0).reshape(12, 3) / 36
    for batch in batches(table):
        loss = ((batch @ w - 1) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    return w.detach().clone()


print("the same", torch.equal(run(1), run(1)))
