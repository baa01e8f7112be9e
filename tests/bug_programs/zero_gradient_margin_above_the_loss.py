# kind: zero-gradient; symptom: the loss is 0 from the start; names: clamp, flat, near
import torch

torch.manual_seed(0)
near = torch.randn(4, 2).mul(0.1).requires_grad_()
optimizer = torch.optim.RMSprop([near])
slack = 0.01  #! slack = 40.0
for _ in range(5):
    pairs = torch.randn(12, 4)
    apart = pairs.matmul(near).norm(dim=1)
    cost = torch.clamp(torch.mean((apart - 1.0) ** 2) - slack, min=0.0)  #< cause
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
