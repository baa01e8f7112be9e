# kind: missing-create-graph; symptom: the network never learns the equation; names: create_graph
import torch

torch.manual_seed(0)
w1 = torch.randn(1, 8, requires_grad=True)
w2 = torch.randn(8, 1, requires_grad=True)
k = torch.tensor(0.5, requires_grad=True)
opt = torch.optim.SGD([w1, w2, k], lr=0.01)


def net(t):
    return torch.tanh(t @ w1) @ w2


def residual(t):
    u = net(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]  #! du = torch.autograd.grad(u.sum(), t)[0]
    return du + k * net(t.detach())


for _ in range(3):
    t = torch.rand(6, 1).requires_grad_()
    loss = residual(t).pow(2).mean() + (net(torch.zeros(1, 1)) - 1.0).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
