# kind: exploding; symptom: the loss is infinite in the second step; names: clip
import torch

torch.manual_seed(0)
pairs = torch.ones(30, 30) / 30  #! pairs = torch.ones(30, 30)
layers = [torch.rand(8, 8).requires_grad_() for _ in range(8)]
x = torch.rand(30, 8)
for step in range(2):
    h = x
    for w in layers:
        h = torch.relu(pairs @ h @ w / 4)  #< cause
    loss = h.mean()
    loss.backward()
    with torch.no_grad():
        for w in layers:
            w -= 0.01 * w.grad
            w.grad = None
