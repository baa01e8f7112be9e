# kind: nondifferentiable; symptom: the threshold never moves; names: threshold
import torch

torch.manual_seed(0)
values = torch.rand(10)
threshold = torch.full((1,), 0.5, requires_grad=True)
weight = torch.ones(10, requires_grad=True)
for step in range(3):
    mask = torch.sigmoid((values - threshold) * 20.0)  #! mask = (values > threshold).to(torch.float32)
    loss = ((mask * weight).sum() - 3.0) ** 2
    loss.backward()
    with torch.no_grad():
        for p in (threshold, weight):
            if p.grad is not None:
                p -= 0.01 * p.grad
                p.grad = None
