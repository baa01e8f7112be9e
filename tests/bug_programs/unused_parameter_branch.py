# kind: unused-parameter; symptom: the auxiliary branch never changes; names: aux is, its 4 parameters
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(4, 8)
        self.aux = torch.nn.Sequential(
            torch.nn.Linear(8, 8),  #< cause
            torch.nn.ReLU(),
            torch.nn.Linear(8, 2),
        )
        self.head = torch.nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        return self.head(h) + self.aux(h)  #! return self.head(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(16, 4), torch.randn(16, 2)
for step in range(3):
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
