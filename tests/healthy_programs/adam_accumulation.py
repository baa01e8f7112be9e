import torch

torch.manual_seed(1)
x, y = torch.randn(48, 6), torch.randn(48, 2)
w1 = (torch.randn(6, 12) * 0.3).requires_grad_(True)
b1 = torch.zeros(12, requires_grad=True)
w2 = (torch.randn(12, 2) * 0.3).requires_grad_(True)
optimizer = torch.optim.Adam([w1, b1, w2], lr=0.01)
parts = 4


def loss_of(batch, target):
    hidden = torch.tanh(batch @ w1 + b1)
    return ((hidden @ w2 - target) ** 2).mean()


for step in range(4):
    optimizer.zero_grad()
    total = 0.0
    for part in range(parts):
        loss = loss_of(x[part * 12 : part * 12 + 12], y[part * 12 : part * 12 + 12]) / parts
        loss.backward()
        total += loss.item()
    optimizer.step()
print("loss", round(total, 3) > 0)
