# kind: optimizer-mismatch; symptom: the gate never opens; names: self.gate, add, not a leaf
import torch


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.gate = torch.nn.Parameter(torch.full((3,), 0.1))  #! self.gate = torch.nn.Parameter(torch.zeros(3)) + 0.1

    def forward(self, x):
        return x + self.gate * torch.tanh(self.inner(x))


torch.manual_seed(0)
block = Gated()
optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(6, 3)
    optimizer.zero_grad()
    (block(x) - x.sin()).abs().mean().backward()
    optimizer.step()
