# kind: optimizer-mismatch; symptom: it learns a thousand times too slowly; names: lr, schedule, factor; torch only
import torch

torch.manual_seed(0)
peak = 2e-3


def ramp(n, hold=4):
    return min((n + 1) / hold, 1.0)  #! return peak * min((n + 1) / hold, 1.0)


weight = torch.zeros(5, requires_grad=True)
optimizer = torch.optim.AdamW([weight], peak)
plan = torch.optim.lr_scheduler.LambdaLR(optimizer, ramp)  #< cause
for _ in range(8):
    data = torch.randn(10, 5)
    (data @ weight - data.mean(1)).abs().sum().backward()
    optimizer.step()
    plan.step()
    optimizer.zero_grad()
