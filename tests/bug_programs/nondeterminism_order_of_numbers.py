# kind: nondeterminism; symptom: the same seed gives another slope; names: random.shuffle(order), random.seed
import random
import torch

pairs = [(0.2, 1.1), (-0.5, 0.3), (1.4, 2.2), (0.9, 1.2), (-1.1, -0.7), (0.1, 0.4)]


def in_order(seed):
    order = list(pairs)
    random.Random(seed).shuffle(order)  #! random.shuffle(order)
    return order


def slope_of(seed):
    torch.manual_seed(seed)
    slope = torch.randn(1, requires_grad=True)
    for _ in range(2):
        for dose, effect in in_order(seed):
            loss = (slope * dose - effect) ** 2
            loss.backward()
            with torch.no_grad():
                slope -= 0.1 * slope.grad
                slope.grad = None
    return slope.detach()


first, second = slope_of(7), slope_of(7)
print(first, second)
