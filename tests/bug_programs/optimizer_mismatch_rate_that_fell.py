# kind: optimizer-mismatch; symptom: it stops learning; names: rate, next to 0; torch only
import torch

torch.manual_seed(0)
weight = torch.zeros(5, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
plan = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
for _ in range(3):
    for _ in range(4):
        data = torch.randn(10, 5)
        optimizer.zero_grad()
        (data @ weight - data.mean(1)).abs().sum().backward()
        optimizer.step()
        pass  #! plan.step()  #< cause
    plan.step()  #! pass
