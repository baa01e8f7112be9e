# kind: frozen-parameter; symptom: backward says that element 0 does not require grad; names: weight, requires_grad=True
import torch

weight = torch.full((3,), 0.5, requires_grad=True)  #! weight = torch.full((3,), 0.5)
loss = (weight * torch.ones(3)).sum()
loss.backward()
print(weight.grad)
