# kind: unused-parameter; symptom: the shift never moves; names: shift, scale, unused
import torch


class Gauge(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(6))
        self.shift = torch.nn.Parameter(torch.rand(6))
        self.out = torch.nn.Linear(6, 1)

    def forward(self, x):
        wide = x * self.scale
        moved = wide + self.shift  #! moved = wide + self.scale
        return self.out(moved.tanh())


torch.manual_seed(0)
gauge = Gauge()
begin = {name: one.detach().clone() for name, one in gauge.named_parameters()}
optimizer = torch.optim.SGD(gauge.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(9, 6)
    loss = (gauge(x).squeeze(1) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print({name: float((one - begin[name]).norm()) for name, one in gauge.named_parameters()})
