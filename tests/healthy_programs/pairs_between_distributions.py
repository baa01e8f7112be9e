"""Distances of all pairs between two sets of numbers, and within each: samples drawn to data, and radial features."""

import torch

torch.manual_seed(0)
maker = torch.nn.Linear(2, 1)
centres = torch.linspace(-2, 2, 16).requires_grad_()
optimizer = torch.optim.Adam([*maker.parameters(), centres], lr=0.05)


def apart(one, other):
    return (one[:, None] - other).abs().mean()


for _ in range(4):
    made, data = maker(torch.randn(16, 2)).squeeze(1), torch.randn(16)
    features = torch.exp(-((data.view(-1, 1) - centres) ** 2))
    nearest = (centres.unsqueeze(1) - data).square().min(1).values.mean()
    loss = 2 * apart(made, data) - apart(made, made) - apart(data, data) + (features.sum(1) - 1).square().mean()
    optimizer.zero_grad()
    (loss + nearest).backward()
    optimizer.step()
print("done")
