# kind: optimizer-mismatch; symptom: the body stays as it began; names: net.body.weight, passed to the optimizer created at program.py:31
import torch

torch.manual_seed(0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x).tanh())


def train(net, optimizer):
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(4, 3)).square().mean().backward()
        optimizer.step()


def tuned():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    net[0].requires_grad_(False)
    train(net, torch.optim.Adam(net.parameters(), 1e-2))


def whole():
    net = Model()
    train(net, torch.optim.SGD(net.parameters(), 1e-2))  #! train(net, torch.optim.SGD(net.head.parameters(), 1e-2))


tuned()
whole()
tuned()
