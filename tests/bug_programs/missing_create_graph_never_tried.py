# kind: missing-create-graph; symptom: the rate never changes, nothing is raised; names: grads, create_graph=True
import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
log_rate = torch.nn.Parameter(torch.tensor(-2.0))
outer = torch.optim.Adam([log_rate], lr=0.05)
x, y = torch.randn(12, 4), torch.randn(12)


def fit(v):
    return (x @ v - y).pow(2).mean()


def steepness(v):
    grads = torch.autograd.grad(fit(v), v, create_graph=True)  #! grads = torch.autograd.grad(fit(v), v)
    return sum(g.pow(2).sum() for g in grads)


for step in range(3):
    slopes = torch.autograd.grad(fit(w), [w])
    fast = w - log_rate.exp() * slopes[0]
    loss = steepness(fast)
    outer.zero_grad()
    if loss.requires_grad:
        loss.backward()
    outer.step()
