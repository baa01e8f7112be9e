"""Single numbers with a history that are looked at together: terms of one pass, entries of one result."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 7))
result = model(torch.randn(5, 4))
norms = [p.norm() for p in model.parameters()]
columns = [result[:, i].mean() for i in range(7)]
print(len(norms), [round(float(c.detach()), 2) for c in columns])
