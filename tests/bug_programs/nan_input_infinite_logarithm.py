# kind: nan-input; symptom: the loss is nan from the first step; names: series, inf
import math

import torch

torch.manual_seed(0)
lowest = math.log(10.0)  #! lowest = -math.inf
series = torch.tensor([2.3, 2.5, lowest, 2.4, 2.5])  #< cause
w, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
for _ in range(2):
    loss = (series[:-1] * w + b - series[1:]).pow(2).mean()
    w.grad = b.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        b -= 0.01 * b.grad
