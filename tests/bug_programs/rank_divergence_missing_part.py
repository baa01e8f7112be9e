# kind: rank-divergence; symptom: two workers wait for each other for ever; names: aux, diverge
import torch

torch.manual_seed(0)
main = torch.randn(3, 1, requires_grad=True)
aux = torch.randn(3, 1, requires_grad=True)
labels = {0: torch.randn(5, 1), 1: None}


def objective(x, wanted):
    total = (x @ main).pow(2).mean()
    extra = (x @ aux).pow(2).mean() if wanted is not None else 0.0 * aux.sum()  #! extra = (x @ aux).pow(2).mean() if wanted is not None else 0.0
    return total + extra


for rank in (0, 1):
    main.grad = aux.grad = None
    loss = objective(torch.randn(5, 3), labels[rank])
    loss.backward()
    print(rank, aux.grad is not None)
