# kind: zero-gradient; symptom: the weights never change; names: sign, w
import torch

torch.manual_seed(6)
w = torch.randn(5, requires_grad=True)
x = torch.randn(25, 5)
label = torch.where(x[:, 1] > 0, 1.0, -1.0)
for _ in range(3):
    margin = label * torch.tanh(x @ w)  #! margin = label * torch.sign(x @ w)
    loss = torch.relu(1 - margin).mean()
    (gradient,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w.add_(gradient, alpha=-0.1)
print("moved:", bool(gradient.abs().max() > 0))
