"""Branches of a deep network begin with a tiny scale each; the sum around them carries the gradient."""

import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)
        self.scale = torch.nn.Parameter(torch.full((width,), 1e-7))

    def forward(self, x):
        return x + self.scale * self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 16), *[Block(16) for _ in range(9)], torch.nn.Linear(16, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(net(torch.randn(12, 6)), torch.randint(0, 3, (12,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
