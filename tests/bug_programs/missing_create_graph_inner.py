# kind: missing-create-graph; symptom: the outer gradient lacks its second-order part; names: g, create_graph=True
import torch

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
log_rate = torch.tensor(-2.0, requires_grad=True)
outer = torch.optim.SGD([w, log_rate], lr=0.01)
for task in range(2):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    inner = ((x[:4] @ w - y[:4]) ** 2).mean()
    (g,) = torch.autograd.grad(inner, w, create_graph=True)  #! (g,) = torch.autograd.grad(inner, w)
    fast = w - log_rate.exp() * g
    outer.zero_grad()
    ((x[4:] @ fast - y[4:]) ** 2).mean().backward()
    outer.step()
