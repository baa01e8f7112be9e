# kind: broadcast; symptom: memory and loss are far too large; names: errors
import torch

torch.manual_seed(0)
x = torch.randn(10, 4)
truth = torch.randn(10, 1)
importance = torch.rand(10, 1)  #! importance = torch.rand(10)
w = torch.randn(4, 1, requires_grad=True)


def weighted(errors):
    return errors * importance  #< cause


errors = (x @ w - truth) ** 2
loss = weighted(errors).mean()
loss.backward()
