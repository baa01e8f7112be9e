# kind: refused-call; symptom: RuntimeError where a hook is registered; names: rows, requires_grad_
import torch

torch.manual_seed(0)
weight = torch.rand(3, requires_grad=True)
rows = torch.rand(5, 3)
scores = rows @ weight
seen = []
scores.register_hook(seen.append)  #! rows.register_hook(seen.append)
scores.sum().backward()
print(len(seen))
