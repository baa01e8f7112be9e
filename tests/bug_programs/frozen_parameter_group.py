# kind: frozen-parameter; symptom: the temperature stays what it was; names: scale, requires_grad; torch only
import torch
from torch import nn


class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(5, 4)
        self.scale = nn.Parameter(torch.ones(()))  #! self.scale = nn.Parameter(torch.ones(()), requires_grad=False)

    def forward(self, a, b):
        return self.left(a) @ self.left(b).T * self.scale


torch.manual_seed(0)
model = Contrast()
opt = torch.optim.Adam([{"params": model.left.parameters()}, {"params": [model.scale], "lr": 1e-2}])
for step in range(2):
    a = torch.randn(6, 5)
    loss = nn.functional.cross_entropy(model(a, a + 0.1), torch.arange(6))
    opt.zero_grad()
    loss.backward()
    opt.step()
