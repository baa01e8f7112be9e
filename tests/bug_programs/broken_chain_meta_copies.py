# kind: broken-chain; symptom: the start of all tasks never gets better; names: detach
import torch

torch.manual_seed(0)
meta = [(torch.randn(3, 1) * 0.1).requires_grad_(), torch.zeros(1, requires_grad=True)]


def adapt(values, x, y):
    loss = ((x @ values[0] + values[1] - y) ** 2).mean()
    grads = torch.autograd.grad(loss, values, create_graph=True)
    return [v - 0.1 * g for v, g in zip(values, grads)]  #! return [(v - 0.1 * g).detach().requires_grad_() for v, g in zip(values, grads)]


for task in range(3):
    x, slope = torch.randn(10, 3), torch.randn(3, 1)
    fast = adapt(meta, x, x @ slope)
    outer = ((x @ fast[0] + fast[1] - x @ slope) ** 2).mean()
    outer.backward()
    with torch.no_grad():
        for v in meta:
            if v.grad is not None:
                v -= 0.05 * v.grad
                v.grad = None
