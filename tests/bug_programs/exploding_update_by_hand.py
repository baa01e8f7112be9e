# kind: exploding; symptom: the loss is nan after a few rounds; names: update, weights, cost
import torch

torch.manual_seed(6)
table, answer = torch.randn(30, 5), torch.randn(30)
weights = torch.randn(5, requires_grad=True)
for _ in range(40):
    cost = torch.sum((table @ weights - answer) ** 2)
    cost.backward()
    with torch.no_grad():
        weights -= 0.01 * weights.grad  #! weights -= 0.5 * weights.grad
        weights.grad = None
