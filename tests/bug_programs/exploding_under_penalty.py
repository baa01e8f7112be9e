# kind: exploding; symptom: the penalty is enormous from the first step on; names: linear, to be trained through, out.weight
import torch

torch.manual_seed(0)
cell = torch.nn.Linear(6, 6)
out = torch.nn.Linear(6, 1)
with torch.no_grad():
    cell.weight.mul_(2.0)  #! cell.weight.mul_(12.0)
optimizer = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=1e-12)


def score(x):
    h = x
    for k in range(10):
        h = torch.relu(cell(h))  #< cause
    return out(h)


for step in range(3):
    x = torch.randn(8, 6, requires_grad=True)
    (g,) = torch.autograd.grad(score(x).sum(), x, create_graph=True)
    penalty = (g.norm(2, dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    penalty.backward()
    optimizer.step()
