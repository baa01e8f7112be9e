# kind: nondeterminism; symptom: the seed changes nothing; names: random.seed
import random
import torch


def run(seed):
    torch.manual_seed(seed)
    shuffled = random.Random(seed)
    w, x = torch.randn(3, 1, requires_grad=True), torch.randn(12, 3)
    for _ in range(3):
        rows = shuffled.sample(range(12), 4)  #! rows = random.sample(range(12), 4)  #< cause
        batch = x[torch.tensor(rows)]
        loss = ((batch @ w - batch.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    return w.detach().clone()


print("the same", bool((run(1) == run(1)).all()))
