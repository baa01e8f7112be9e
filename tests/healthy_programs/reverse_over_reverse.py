import copy

import torch
from torch.func import grad, vjp

torch.manual_seed(6)
w, x, v = torch.randn(4), torch.randn(10, 4), torch.randn(4)


def f(w):
    return torch.tanh(x @ w).mean()


product = vjp(grad(f), w)[1](v)[0]
slope = torch.tanh(x @ w)
hessian = (x.T * (-2 * slope * (1 - slope**2))) @ x / 10
print("same", torch.allclose(hessian @ v, product, atol=1e-5))
layer = torch.nn.Linear(4, 2)
skeleton = copy.deepcopy(layer).to("meta")  # only says where parameters belong
values = {name: torch.zeros_like(p, requires_grad=True) for name, p in layer.named_parameters()}
optimizer = torch.optim.SGD(values.values(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    (torch.func.functional_call(skeleton, values, (x,)) - 1).pow(2).mean().backward()
    optimizer.step()
print("trained", bool(values["bias"].sum() > 0))
