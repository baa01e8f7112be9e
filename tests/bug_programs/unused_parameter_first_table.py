# kind: unused-parameter; symptom: one table stays as it was; names: tables[0]
import torch

torch.manual_seed(0)
columns = [0, 1, 2]
tables = [(torch.randn(7, 4) * 0.3).requires_grad_(True) for _ in columns]
rows = torch.randint(0, 7, (20, 3))
wanted = torch.randn(20, 4)


def looked_up(rows):
    return sum(tables[c][rows[:, c]] for c in columns[0:])  #! return sum(tables[c][rows[:, c]] for c in columns[1:])


for step in range(3):
    loss = (looked_up(rows) - wanted).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for table in tables:
            if table.grad is not None:
                table -= 0.1 * table.grad
                table.grad = None
