# kind: missing-create-graph; symptom: element 0 of tensors does not require grad; names: create_graph
import torch

torch.manual_seed(9)
inner, outer = torch.randn(1, 10, requires_grad=True), torch.randn(10, 1, requires_grad=True)


def derivative(value, at):
    return torch.autograd.grad(value.sum(), at, create_graph=True)[0]  #! return torch.autograd.grad(value.sum(), at)[0]


t = torch.linspace(0, 1, 20).reshape(-1, 1).requires_grad_()
value = torch.tanh(t @ inner) @ outer
residual = derivative(value, t) + 2 * value.detach()
loss = (residual**2).mean()
loss.backward()
print("gradient:", inner.grad is not None)
