# kind: cleared-gradient; symptom: the curve is not fitted; names: closure, weights.grad
import torch

torch.manual_seed(0)
times = torch.linspace(0.0, 1.0, 12)
weights = torch.ones(3, requires_grad=True)
solver = torch.optim.LBFGS([weights], lr=0.5, max_iter=4)


def misfit():
    solver.zero_grad()
    curve = weights[0] + weights[1] * times + weights[2] * times * times
    loss = (curve - torch.sin(3.0 * times)).square().sum()
    loss.backward()
    return loss  #! weights.grad.mul_(0.0); return loss


for _ in range(3):
    solver.step(misfit)
