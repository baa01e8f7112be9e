# kind: create-graph-cycle; symptom: a warning and memory that is not freed; names: w
import torch

torch.manual_seed(0)
x = torch.randn(6, 3)
w = torch.randn(3, requires_grad=True)
for step in range(1):
    loss = ((x @ w) ** 2).mean()
    (g,) = torch.autograd.grad(loss, [w], create_graph=True)  #! loss.backward(create_graph=True)
    penalty = (g**2).sum()  #! penalty = (w.grad**2).sum()
    (h,) = torch.autograd.grad(penalty, [w])
    with torch.no_grad():
        w -= 0.01 * h
