"""Losses weighed by numbers that another optimizer trains later, a scaled branch, and columns drawn for all rows."""

import torch

torch.manual_seed(0)
weight = torch.randn(4, 3, requires_grad=True)
doubt = torch.zeros(3, requires_grad=True)
main = torch.optim.SGD([weight], lr=0.01)
later = torch.optim.SGD([doubt], lr=0.01)
for turn in range(4):
    x = torch.randn(8, 4)
    out = x @ weight
    loss = (torch.exp(-doubt) * out.square() + doubt).sum(1).mean() + out[:, torch.randperm(3)].mean()
    later.zero_grad()
    main.zero_grad()
    loss.backward()
    (main if turn % 2 else later).step()
print(weight.sum().item(), doubt.sum().item())
