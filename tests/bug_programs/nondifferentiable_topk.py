# kind: nondifferentiable; symptom: what scores the rows is never trained; names: scorer, topk
import torch

torch.manual_seed(0)
scorer = torch.randn(4, 1, requires_grad=True)
value = torch.randn(4, 2, requires_grad=True)
optimizer = torch.optim.SGD([scorer, value], lr=0.1)
for step in range(2):
    rows = torch.randn(10, 4)
    best = torch.topk((rows @ scorer)[:, 0], 3)  #< cause
    chosen = (rows @ value)[best.indices] * best.values[:, None]  #! chosen = (rows @ value)[best.indices]
    optimizer.zero_grad()
    chosen.pow(2).mean().backward()
    optimizer.step()
