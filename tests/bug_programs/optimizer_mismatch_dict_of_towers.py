# kind: optimizer-mismatch; symptom: only the head is trained; names: no module registers them, ModuleDict
import torch


class Towers(torch.nn.Module):
    def __init__(self, kinds):
        super().__init__()
        towers = {kind: torch.nn.Linear(4, 3) for kind in kinds}  #< cause
        self.towers = torch.nn.ModuleDict(towers)  #! self.towers = towers.values()
        self.head = torch.nn.Linear(3, 1)

    def forward(self, x):
        kinds = self.towers.values()  #! kinds = self.towers
        return self.head(sum(torch.relu(tower(x)) for tower in kinds))


torch.manual_seed(0)
net = Towers(("near", "far"))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(5, 4)
    optimizer.zero_grad()
    (net(x) - x.amax(1, keepdim=True)).square().mean().backward()
    optimizer.step()
