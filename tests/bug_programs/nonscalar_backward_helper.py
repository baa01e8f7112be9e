# kind: nonscalar-backward; symptom: grad can be implicitly created only for scalar outputs; names: loss, (6,)
import torch

torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)


def objective(batch):
    return (batch @ w).pow(2).mean()  #! return (batch @ w).pow(2).mean(dim=1)


loss = objective(torch.randn(6, 3))
loss.backward()
