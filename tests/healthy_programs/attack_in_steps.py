import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 10), torch.nn.ReLU(), torch.nn.Linear(10, 3))
x, y = torch.randn(7, 5), torch.randint(0, 3, (7,))


def perturb(eps=0.3, rate=0.1):
    delta = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_(True)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(x + delta), y)
        loss.backward()
        step = rate * delta.grad.sign()
        delta = (delta + step).clamp(-eps, eps).detach().requires_grad_(True)
    return (x + delta).detach()


print("moved:", bool(((perturb() - x).abs() <= 0.3 + 1e-6).all()))
