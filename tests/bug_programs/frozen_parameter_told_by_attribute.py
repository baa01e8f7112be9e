# kind: frozen-parameter; symptom: the body is to thaw after the warm-up, and never moves; names: requires_grad_(True), weight
import torch

torch.manual_seed(0)
x = torch.randn(16, 4)
y = torch.tanh(x[:, :1])
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()


net[0].requires_grad_(False)
steps(3)
net[0].requires_grad_(True)  #! net[0].requires_grad = True
steps(6)
