import torch

torch.manual_seed(2)
x, direction = torch.randn(4, requires_grad=True), torch.randn(4)
weights = torch.ones(4, requires_grad=True)  # the gradient is linear in them: its own gradient is the derivative
y = torch.tanh(x) * x
(pulled,) = torch.autograd.grad(y, x, weights, create_graph=True)
(pushed,) = torch.autograd.grad(pulled, weights, direction)
by_hand = (1 - torch.tanh(x) ** 2) * x + torch.tanh(x)
print("same", torch.allclose(pushed, by_hand * direction, atol=1e-5))
