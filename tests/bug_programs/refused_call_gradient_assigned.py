# kind: refused-call; symptom: RuntimeError before the step; names: weight.grad, (3,), (4,)
import torch

torch.manual_seed(0)
weight = torch.rand(3, requires_grad=True)
bias = torch.rand(4, requires_grad=True)
(weight.sum() * bias.sum()).backward()
mean = {"weight": weight.grad / 2, "bias": bias.grad / 2}
weight.grad = mean["weight"]  #! weight.grad = mean["bias"]
print(weight.grad)
