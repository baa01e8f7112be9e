# kind: missing-copy; symptom: the tower has the parameters of one floor; names: 3 times, net.floors.0.0.weight
import torch


class Tower(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.enter = torch.nn.Linear(4, width)
        self.floors = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh()) for _ in range(depth)])  #! self.floors = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh())] * depth)
        self.leave = torch.nn.Linear(width, 1)

    def forward(self, x):
        x = self.enter(x)
        for floor in self.floors:
            x = x + floor(x)
        return self.leave(x)


torch.manual_seed(0)
net = Tower(8, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(12, 4)
    optimizer.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
