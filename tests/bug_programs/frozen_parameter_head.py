# kind: frozen-parameter; symptom: the head, with a rate of its own, never moves; names: head.weight, requires_grad
import torch

torch.manual_seed(0)
body, head = torch.nn.Linear(5, 6), torch.nn.Linear(6, 2)
low, up = torch.nn.Linear(5, 2, bias=False), torch.nn.Linear(2, 6, bias=False)
for part in (body, head):
    for p in part.parameters():
        p.requires_grad = part is head  #! p.requires_grad = False
opt = torch.optim.SGD([{"params": [*low.parameters(), *up.parameters()]}, {"params": head.parameters(), "lr": 0.5}], lr=0.1)
for step in range(3):
    x = torch.randn(8, 5)
    loss = torch.nn.functional.cross_entropy(head(torch.relu(body(x) + up(low(x)))), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
