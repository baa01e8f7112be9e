# kind: optimizer-mismatch; symptom: the readings of each room stay off by as much; names: shift
import torch


nn = torch.nn


class Sensors(torch.nn.Module):
    def __init__(self, places):
        super().__init__()
        self.body = torch.nn.Linear(4, 1)
        zeros = torch.zeros
        self.shift = nn.ParameterDict({n: zeros(1) for n in places})  #! self.shift = {n: nn.Parameter(zeros(1)) for n in places}

    def forward(self, x, name):
        return self.body(x) - self.shift[name]


torch.manual_seed(0)
sensors = Sensors(["roof", "cellar"])
optimizer = torch.optim.SGD(sensors.parameters(), lr=0.05)
for turn in range(4):
    loss = 0
    for name, gap in (("roof", 1.0), ("cellar", -2.0)):
        x = torch.randn(16, 4)
        loss = loss + (sensors(x, name) - x.sum(1, keepdim=True) - gap).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
