import torch

torch.manual_seed(9)
w1 = (torch.randn(3, 8) * 0.5).requires_grad_(True)
w2 = (torch.randn(8, 1) * 0.5).requires_grad_(True)


def critic(batch):
    return torch.tanh(batch @ w1) @ w2


for step in range(3):
    real, fake = torch.randn(16, 3), torch.randn(16, 3) + 1.0
    mixed = (0.5 * real + 0.5 * fake).requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    penalty = ((torch.sqrt((slope**2).sum(1) + 1e-12) - 1.0) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10.0 * penalty
    grads = torch.autograd.grad(loss, [w1, w2])
    with torch.no_grad():
        for p, g in zip((w1, w2), grads):
            p -= 0.01 * g
print("penalty", float(penalty.detach()) >= 0)
