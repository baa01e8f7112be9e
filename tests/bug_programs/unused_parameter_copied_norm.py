# kind: unused-parameter; symptom: the other norm is never trained; names: norm2, norm1.weight
import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = torch.nn.Linear(5, 8)
        self.norm1 = torch.nn.LayerNorm(8)
        self.norm2 = torch.nn.LayerNorm(8)
        self.leave = torch.nn.Linear(8, 2)

    def forward(self, x):
        h = torch.tanh(self.enter(x))
        h = torch.tanh(self.norm1(h))
        h = torch.tanh(self.norm2(h))  #! h = torch.tanh(self.norm1(h))
        return self.leave(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(12, 5)
for step in range(4):
    optimizer.zero_grad()
    (net(x) - x[:, :2]).pow(2).mean().backward()
    optimizer.step()
