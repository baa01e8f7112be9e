# kind: unused-parameter; symptom: the last of three blocks never changes; names: blocks.2 is, its 6 parameters
import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(4, 8)
        self.blocks = torch.nn.ModuleList([Block(8) for _ in range(3)])  #< cause
        self.head = torch.nn.Linear(8, 2)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:  #! for block in self.blocks[:-1]:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(16, 4), torch.randn(16, 2)
for step in range(3):
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
