import copy

import torch

torch.manual_seed(0)
layer = torch.nn.Linear(6, 6, bias=False)
layers = [copy.deepcopy(layer) for _ in range(3)]
scores = torch.nn.Linear(6, 6)
picture = torch.rand(5, 6, requires_grad=True)
style = torch.nn.Linear(6, 4)
opt = torch.optim.Adam([*(p for one in layers for p in one.parameters()), *scores.parameters()], lr=1e-2)
picture_opt = torch.optim.SGD([picture], lr=0.1)
later = torch.ones(40, 40).triu(1) == 1
for step in range(3):
    x = torch.randn(40, 6)
    h = x
    for one in layers:
        h = h + torch.tanh(one(h))
    seen = torch.sigmoid((scores(h) @ h.t()).masked_fill(later, -1e4))
    loss = ((seen @ x / 40 - x.mean(0)) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    picture_opt.zero_grad()
    look = ((style(picture) - 1) ** 2).mean() + 0.01 * picture.abs().mean()
    look.backward()
    picture_opt.step()
print("loss", loss.item() > 0, look.item() > 0)
