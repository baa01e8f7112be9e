# A focal loss: 1 - p weighs the logarithm of p, and another loss holds p to the labels as well.
import torch

torch.manual_seed(0)
w, b = torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.05)
x = torch.randn(24, 4)
y = (x[:, :1] > 0).float()
for _ in range(3):
    p = torch.sigmoid(x @ w + b)
    focal = -(y * (1 - p) * torch.log(p + 1e-6) + (1 - y) * p * torch.log(1 - p + 1e-6)).mean()
    brier = (p - y).square().mean()
    loss = focal + 0.1 * brier
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.detach().shape)
