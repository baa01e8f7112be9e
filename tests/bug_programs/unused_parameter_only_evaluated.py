# kind: unused-parameter; symptom: the scale learns nothing, for training returns before it; names: net.scale, no gradients are recorded
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 1)
        self.scale = torch.nn.Parameter(torch.ones(1))  #< cause

    def forward(self, x):
        y = self.body(x)
        return y * self.scale  #! return y if self.training else y * self.scale


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(16, 4)
y = x.sum(1, keepdim=True)
for epoch in range(3):
    net.train()
    optimizer.zero_grad()
    (net(x) - y).square().mean().backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        (net(x) - y).abs().mean()
