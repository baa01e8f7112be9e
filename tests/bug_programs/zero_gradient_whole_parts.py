# kind: zero-gradient; symptom: only the bias learns; names: floor_divide, slope, zero
import torch

torch.manual_seed(0)
slope = torch.zeros(3, 1, requires_grad=True)
offset = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([slope, offset], lr=0.1)
for _ in range(4):
    grey = torch.rand(16, 3).mul(254.0)
    bright = grey / 255.0  #! bright = grey // 255.0  #< cause
    guess = torch.addmm(offset, bright, slope)
    loss = (guess - grey.sum(dim=1, keepdim=True).div(255.0)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
