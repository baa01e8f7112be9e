"""Views that split, join and group axes as they lie, and such as swap them first."""

import torch

torch.manual_seed(0)
heads = torch.nn.Linear(12, 12)
shuffle = torch.nn.Linear(12, 16)
mix = torch.nn.Linear(6, 6)
optimizer = torch.optim.SGD([*heads.parameters(), *shuffle.parameters(), *mix.parameters()], lr=0.01)
for _ in range(3):
    x = torch.randn(4, 10, 12)
    split = heads(x).view(4, 10, 3, 4).transpose(1, 2)
    joined = split.transpose(1, 2).reshape(4, 10, 12)
    groups = joined.view(4, 10, 4, 3).mean(-1)
    pixels = shuffle(joined).view(4, 5, 2, 4, 4).permute(0, 2, 1, 3, 4).reshape(4, 10, 16)
    swapped = mix(torch.randn(4, 9, 6)).transpose(1, 2).contiguous().view(4, 6, 9)
    rows = swapped.reshape(-1, 9).view(4, 6, 9)
    loss = groups.square().mean() + pixels.square().mean() + rows.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
