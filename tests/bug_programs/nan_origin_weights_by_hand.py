# kind: nan-origin; symptom: all weights are NaN after the first update; names: sqrt
import torch

x = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
w = torch.zeros(3, requires_grad=True)
for step in range(3):
    fit = (x @ w - 1.0).abs().sum()
    size = torch.sqrt((w**2).sum() + 1e-8)  #! size = torch.sqrt((w**2).sum())
    (g,) = torch.autograd.grad(fit + 0.1 * size, [w])
    with torch.no_grad():
        w -= 0.1 * g
print(w.tolist())
