# kind: cleared-gradient; symptom: the table is never learned; names: table.grad
import torch

torch.manual_seed(0)
table = torch.nn.Parameter(torch.randn(5, 3))
optimizer = torch.optim.SGD([table], lr=0.5)
for step in range(4):
    rows = torch.randint(0, 5, (6,))
    table.grad = None
    (table[rows] - 1.0).abs().sum().backward()
    torch.clamp(table.grad, -0.1, 0.1, out=table.grad)  #! table.grad.data.mul_(int(step > 9))
    optimizer.step()
