# kind: refused-write; symptom: RuntimeError in the loop over rows; names: row, unbind
import torch

torch.manual_seed(0)
weight = torch.rand(2, 3, requires_grad=True)
total = torch.zeros(())
for row in (weight * 2).unbind(0):
    total = total + (row * 0.5).sum()  #! total = total + row.mul_(0.5).sum()
total.backward()
print(weight.grad)
