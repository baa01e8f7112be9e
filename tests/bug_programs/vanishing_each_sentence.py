# kind: vanishing; symptom: the embedding does not learn; names: table
import torch

torch.manual_seed(0)
table = torch.randn(7, 6, requires_grad=True)
cell = torch.nn.Linear(6, 6)
torch.nn.init.orthogonal_(cell.weight)
with torch.no_grad():
    cell.weight.mul_(1.2)  #! cell.weight.mul_(0.05)
losses = []
for sentence in ([0, 3], [1, 4], [2, 5, 6]):
    h = table[sentence].sum(0)
    for _ in range(9):
        h = torch.tanh(cell(h))  #< cause
    losses.append((h - 0.1).pow(2).sum())
sum(losses).backward()
print(table.grad.norm())
