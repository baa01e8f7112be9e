# kind: leaf-inplace; symptom: the average of the weights cannot be updated; names: mean is a leaf, with torch.no_grad()
import torch

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
average = w.detach().clone().requires_grad_()


def update(mean, value):
    mean.detach().mul_(0.9).add_(value, alpha=0.1)  #! mean.mul_(0.9).add_(value, alpha=0.1)


loss = (torch.randn(8, 3) @ w).pow(2).mean()
loss.backward()
update(average, w.detach())
