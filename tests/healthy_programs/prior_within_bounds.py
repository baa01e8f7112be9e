"""A prior that is constant within its bounds: the check of the bounds has no derivative and nothing to teach."""

import torch

torch.manual_seed(0)
x = torch.randn(30)
y = 1.5 * x + 0.2 * torch.randn(30)
slope = torch.zeros(1, requires_grad=True)
log_width = torch.zeros(1, requires_grad=True)
opt = torch.optim.Adam([slope, log_width], lr=0.05)
for _ in range(6):
    width = log_width.exp()
    within = (width > 0.0) & (width < 20.0)
    prior = torch.log(within.float() / 20.0).sum() - slope.pow(2).sum() / 2
    fit = -((y - slope * x) / width).pow(2).sum() / 2 - 30 * width.log().sum()
    loss = -(fit + prior)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
