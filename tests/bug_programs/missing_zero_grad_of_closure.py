# kind: missing-zero-grad; symptom: the solver takes wild steps; names: closure, pose.grad
import torch

torch.manual_seed(0)
markers = torch.randn(6, 2)
pose = torch.zeros(2, requires_grad=True)
solver = torch.optim.LBFGS([pose], lr=0.3, max_iter=5)


def closure():
    if pose.grad is not None:  #! if pose.grad is not None and pose.grad.isnan().any():
        pose.grad = None
    error = (markers - pose).square().sum(1).sqrt().sum()
    error.backward()  #< cause
    return error


solver.step(closure)
