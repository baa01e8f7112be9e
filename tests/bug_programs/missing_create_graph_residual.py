# kind: missing-create-graph; symptom: the equation is not learned; names: slope, create_graph
import torch

torch.manual_seed(0)
a = torch.randn(1, 8, requires_grad=True)
b = torch.randn(8, 1, requires_grad=True)


def solution(t):
    return torch.tanh(t @ a) @ b


for step in range(2):
    t = torch.linspace(0, 1, 6).reshape(6, 1).requires_grad_()
    u = solution(t)
    (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)  #! (slope,) = torch.autograd.grad(u.sum(), t, retain_graph=True)
    residual = slope + u
    loss = residual.pow(2).mean() + (solution(torch.zeros(1, 1)) - 1.0).pow(2).sum()
    loss.backward()
    a.grad = b.grad = None
