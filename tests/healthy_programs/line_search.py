import torch

torch.manual_seed(10)
x, y = torch.randn(30, 4), torch.randn(30, 1)
w = torch.zeros(4, 1, requires_grad=True)


def loss_at(weights):
    return ((x @ weights - y) ** 2).mean()


for step in range(3):
    loss = loss_at(w)
    (g,) = torch.autograd.grad(loss, w)
    rate = 1.0
    with torch.no_grad():
        while float(loss_at(w - rate * g)) > loss.item() and rate > 1e-3:
            rate *= 0.5
        w -= rate * g
print("rate", rate)
