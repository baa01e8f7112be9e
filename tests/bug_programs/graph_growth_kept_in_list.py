# kind: graph-growth; symptom: memory grows from step to step; names: mse, item
import torch

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
history = []
for step in range(6):
    x = torch.randn(8, 4)
    mse = (x @ w - 1).pow(2).mean()
    mse.backward()
    w.grad = None
    history.append(mse.item())  #! history.append(mse)
print("mean", sum(history) / len(history))
