# kind: nondifferentiable; symptom: the threshold stays as it began; names: ends at >, sigmoid(10 * (x.abs() - tau))
import torch

torch.manual_seed(0)
tau, w = torch.nn.Parameter(torch.full((3,), 0.1)), torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([tau, w], lr=0.1)
for _ in range(3):
    x = torch.randn(5, 3) * w
    kept = x * torch.sigmoid(10 * (x.abs() - tau))  #! kept = torch.where(x.abs() > tau, x, 0 * x)
    optimizer.zero_grad()
    kept.square().mean().backward()
    optimizer.step()
