# kind: frozen-parameter; symptom: the second phase improves the head only; names: trunk, switched them on; torch only
import torch
from torch import nn

torch.manual_seed(0)
trunk, head = nn.Linear(4, 6), nn.Linear(6, 1)


def freeze(module, frozen=True):
    for p in module.parameters():
        p.requires_grad = not frozen  #< cause


def train(params):
    opt = torch.optim.SGD(params, lr=0.05)
    for _ in range(3):
        x = torch.randn(8, 4)
        loss = (head(torch.tanh(trunk(x))) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


freeze(trunk)
train(head.parameters())
freeze(trunk, frozen=False)  #! print("probed")
train([*trunk.parameters(), *head.parameters()])
