# kind: missing-create-graph; symptom: the weights of the examples never get a gradient; names: example, create_graph=True
import torch

torch.manual_seed(0)
x, y = torch.randn(6, 3), torch.randn(6)
x_val = torch.randn(10, 3)
y_val = x_val[:, 0]
example = torch.zeros(6, requires_grad=True)
theta = torch.zeros(3, requires_grad=True)


def looked_ahead():
    inner = (torch.sigmoid(example) * (x @ theta - y) ** 2).mean()
    (g,) = torch.autograd.grad(inner, [theta], create_graph=True)  #! (g,) = torch.autograd.grad(inner, [theta])  #< cause
    return theta - 0.5 * g


for step in range(5):
    loss = ((x_val @ looked_ahead() - y_val) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (example, theta):
            if p.grad is not None:
                p -= 0.1 * p.grad
                p.grad.zero_()
print(loss.item())
