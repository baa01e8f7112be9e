# kind: nan-input; symptom: the loss is infinite from the second batch on; names: prices, inf
import torch

torch.manual_seed(0)
prices = torch.tensor([1.0, 2.0, 3.0, 4.0])  #! prices = torch.tensor([1.0, 2.0, 3.0, float("inf")])
w = torch.zeros(3, requires_grad=True)
for first in (0, 2):
    x, y = torch.randn(2, 3), prices[first : first + 2]
    w.grad = None
    ((x @ w - y) ** 2).mean().backward()
