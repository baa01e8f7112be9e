# kind: exploding; symptom: the gradient of the start has a norm of billions; names: sub, step size
import torch

torch.manual_seed(1)
start = {"w": torch.randn(5, 1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
rate = 0.02  #! rate = 1.5


def error(weights, x, y):
    return ((x @ weights["w"] + weights["b"] - y) ** 2).mean()


total = 0.0
for task in range(2):
    x = torch.randn(16, 5)
    y = x @ torch.randn(5, 1)
    weights = start
    for step in range(9):
        grads = torch.autograd.grad(error(weights, x, y), list(weights.values()), create_graph=True)
        weights = {name: p - rate * g for (name, p), g in zip(weights.items(), grads, strict=True)}  #< cause
    total = total + error(weights, x, y)
total.backward()
print(float(start["w"].grad.norm()))
