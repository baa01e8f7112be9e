"""Centred tables of pairs: the mean of a row is that of the column with its number, kept as a dimension or not."""

import torch

torch.manual_seed(2)
embed = torch.nn.Linear(5, 6)
opt = torch.optim.SGD(embed.parameters(), lr=0.01)
people = torch.randn(6, 5)
for _ in range(3):
    spots = embed(people)
    likeness = spots @ spots.t()
    centred = likeness - likeness.mean(1) - likeness.mean(0)[:, None] + likeness.mean()
    gaps = torch.cdist(spots, spots).square()
    doubly = gaps - gaps.mean(dim=1) - gaps.mean(dim=0).unsqueeze(1)
    opt.zero_grad()
    (centred.square().mean() + 0.01 * doubly.abs().mean()).backward()
    opt.step()
print(embed.weight.sum().item())
