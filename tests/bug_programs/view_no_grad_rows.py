# kind: view-no-grad; symptom: RuntimeError where the rows are scaled; names: rows
import torch

torch.manual_seed(0)
weight = torch.randn(6, 3, requires_grad=True)
table = weight * 1.0
rows = table[:2]  #! with torch.no_grad(): rows = table[:2]
rows.mul_(0.5)
table.sum().backward()
print(weight.grad)
