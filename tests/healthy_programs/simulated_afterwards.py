import torch

torch.manual_seed(0)


def brew(rate, start, n):
    sugar, alcohol = start, torch.zeros(())
    for _ in range(n):
        made = rate * sugar
        sugar = sugar - made
        alcohol = alcohol + 0.5 * made
    return sugar, alcohol


rate = torch.tensor(0.3, requires_grad=True)
left, got = brew(rate, torch.tensor(10.0), 8)
got.backward()
with torch.no_grad():
    rate -= 0.01 * rate.grad
another = torch.nn.Parameter(torch.tensor(0.2))
left, got = brew(another, torch.tensor(9.0), 8)
print(left.item(), got.item())
