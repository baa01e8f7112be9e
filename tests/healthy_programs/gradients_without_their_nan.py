"""Steps along gradients that ``autograd.grad`` gave, with what is not finite in them left out or passed over."""

import torch

torch.manual_seed(0)
points = torch.tensor([[0.0, 0.0], [1.0, 2.0], [-2.0, 1.0]])
centre = torch.zeros(2, requires_grad=True)
width = torch.zeros(1, requires_grad=True)
passed_over = 0
for _ in range(4):
    distance = ((points - centre) ** 2).sum(1).sqrt()
    loss = distance.mean() + width.abs().sqrt().sum()
    of_centre, of_width = torch.autograd.grad(loss, [centre, width])
    with torch.no_grad():
        centre -= 0.1 * torch.nan_to_num(of_centre, nan=0.5)
        if bool(torch.isfinite(of_width).all()):
            width -= 0.1 * of_width
        else:
            passed_over += 1
print(centre.tolist(), passed_over)
