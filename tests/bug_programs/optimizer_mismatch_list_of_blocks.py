# kind: optimizer-mismatch; symptom: the blocks stay at their initial values; names: blocks, ModuleList
import torch

torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.inner(x))


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(3, 4)
        self.blocks = torch.nn.ModuleList([Block(4) for _ in range(3)])  #! self.blocks = [Block(4) for _ in range(3)]
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


tower = Tower()
optimizer = torch.optim.Adam(tower.parameters(), lr=0.01)
x = torch.randn(10, 3)
for step in range(4):
    optimizer.zero_grad()
    (tower(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
