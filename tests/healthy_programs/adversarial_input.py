import torch

torch.manual_seed(0)
x = torch.randn(10, 4)
y = torch.randn(10, 1)
w = torch.randn(4, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.05)
for step in range(3):
    probe = x.clone().requires_grad_(True)
    clean = ((probe @ w - y) ** 2).mean()
    (g,) = torch.autograd.grad(clean, probe)
    moved = x + 0.1 * g.sign()
    loss = ((moved @ w - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
