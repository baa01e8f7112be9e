# kind: cleared-gradient; symptom: only the last of several goals is learned; names: shared, assigned several times, p.grad + g
import torch


def collect(shared, heads, x):
    for place, head in enumerate(heads):
        loss = (torch.tanh(x @ shared) @ head - x[:, place : place + 1]).abs().mean()
        found = torch.autograd.grad(loss, [shared, head])
        for p, g in zip([shared, head], found):
            g = g / (1e-6 + g.norm())
            p.grad = g if p.grad is None else p.grad + g  #! p.grad = g


torch.manual_seed(0)
shared = torch.nn.Parameter(torch.randn(4, 3))
heads = [torch.nn.Parameter(torch.randn(3, 1)) for _ in range(3)]
optimizer = torch.optim.SGD([shared, *heads], lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    collect(shared, heads, torch.randn(6, 4))
    optimizer.step()
