"""Queries start from zeros, so the first attention learns nothing yet; the loss takes minima of boxes."""

import torch

torch.manual_seed(0)
place = torch.randn(5, 8, requires_grad=True)
mixing = torch.nn.MultiheadAttention(8, 2, batch_first=True)
reading = torch.nn.MultiheadAttention(8, 2, batch_first=True)
boxes = torch.nn.Linear(8, 2)
params = [place, *mixing.parameters(), *reading.parameters(), *boxes.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
for _ in range(2):
    content = torch.zeros(3, 5, 8)
    content = content + mixing(content + place, content + place, content)[0]
    seen = torch.randn(3, 7, 8)
    found = boxes(content + reading(content + place, seen, seen)[0]).sigmoid()
    goal = torch.rand(3, 5, 2)
    inner, outer = torch.minimum(found, goal).prod(-1), torch.maximum(found, goal).prod(-1)
    loss = 1 - (inner / outer).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
