# kind: moved-while-frozen; symptom: the table drifts after it was frozen; names: table, step, earlier pass
import torch

torch.manual_seed(0)
table, mixed = torch.nn.Embedding(6, 4), torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam([*table.parameters(), *mixed.parameters()], lr=0.01)


def step(words):
    for p in mixed.parameters():
        p.grad = None
    if table.weight.requires_grad:
        table.weight.grad = None
    loss = mixed(table(words)).square().mean()
    loss.backward()
    optimizer.step()


for _ in range(2):
    step(torch.randint(6, (5,)))
table.weight.requires_grad = False  #< cause
table.weight.grad = None  #! held = table.weight.grad
for _ in range(3):
    step(torch.randint(6, (5,)))
