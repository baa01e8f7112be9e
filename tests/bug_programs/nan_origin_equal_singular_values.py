# kind: nan-origin; symptom: all is NaN after the first step; names: svd, singular values
import torch

torch.manual_seed(0)
offset = torch.zeros(3, 3, requires_grad=True)
optimizer = torch.optim.SGD([offset], lr=0.01)
points, wanted = torch.randn(8, 3), torch.randn(8, 3)
for _ in range(2):
    about = torch.diag(torch.tensor([1.0, 1.1, 1.2])) + offset  #! about = torch.eye(3) + offset
    left, sizes, right = torch.linalg.svd(about)  #< cause
    turned = points @ (left @ torch.diag(sizes.clamp(max=1.5)) @ right)
    loss = (turned - wanted).square().mean() + left[0].square().dot(torch.arange(1.0, 4.0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
