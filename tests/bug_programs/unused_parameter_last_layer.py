# kind: unused-parameter; symptom: one layer keeps its initial weights; names: layers.3.weight, layers.3.bias, the loop
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(6, 6) for _ in range(4)])
        self.head = torch.nn.Linear(6, 1)

    def forward(self, x):
        for i in range(len(self.layers)):  #! for i in range(len(self.layers) - 1):
            x = x + torch.tanh(self.layers[i](x))
        return self.head(x)


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(20, 6)
for step in range(3):
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
