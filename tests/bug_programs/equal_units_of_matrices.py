# kind: equal-units; symptom: the factors stay of rank one; names: left, random
import torch

torch.manual_seed(0)
wanted = torch.randn(6, 5)
left = torch.full((4, 6), 0.3).requires_grad_()  #! left = torch.full((4, 6), 0.3).requires_grad_()
right = torch.randn(4, 5).requires_grad_()  #! right = torch.full((4, 5), 0.5).requires_grad_()
optimizer = torch.optim.SGD([left, right], lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    (left.t() @ right - wanted).square().mean().backward()
    optimizer.step()
