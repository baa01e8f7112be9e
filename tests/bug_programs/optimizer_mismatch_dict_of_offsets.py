# kind: optimizer-mismatch; symptom: the readings of each room stay off by as much; names: offsets
import torch


class Sensors(torch.nn.Module):
    def __init__(self, places):
        super().__init__()
        self.body = torch.nn.Linear(4, 1)
        zeros = {name: torch.nn.Parameter(torch.zeros(1)) for name in places}
        self.offsets = torch.nn.ParameterDict(zeros)  #! self.offsets = {name: p for name, p in zeros.items()}

    def forward(self, x, name):
        return self.body(x) - self.offsets[name]


torch.manual_seed(0)
sensors = Sensors(["roof", "cellar"])
optimizer = torch.optim.SGD(sensors.parameters(), lr=0.05)
for turn in range(4):
    loss = 0
    for name, shift in (("roof", 1.0), ("cellar", -2.0)):
        x = torch.randn(16, 4)
        loss = loss + (sensors(x, name) - x.sum(1, keepdim=True) - shift).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
