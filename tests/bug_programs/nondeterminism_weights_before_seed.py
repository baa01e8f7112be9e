# kind: nondeterminism; symptom: two runs with one seed differ; names: seed
import torch


def run(seed):
    torch.manual_seed(seed)  #! weights = torch.randn(3, 1)
    weights = torch.randn(3, 1)  #! torch.manual_seed(seed)
    w = weights.requires_grad_()
    x = torch.randn(8, 3)
    for _ in range(3):
        loss = ((x @ w - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    return float(loss.detach())


first, second = run(3), run(3)
print("the same", first == second)
