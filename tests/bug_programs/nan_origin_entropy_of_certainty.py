# kind: nan-origin; symptom: the loss is NaN as soon as a target is certain; names: log, target, xlogy
import torch

target = torch.tensor([[0.0, 1.0], [0.3, 0.7]])
scores = torch.zeros(2, 2, requires_grad=True)
guess = torch.log_softmax(scores, 1)
entropy = torch.xlogy(target, target)  #! entropy = target * target.log()
loss = (entropy - target * guess).sum()
loss.backward()
print(loss.item())
