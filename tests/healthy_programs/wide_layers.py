"""Layers much wider than the data: what they make is most of the memory, and their weights are the rest."""

import torch

torch.manual_seed(0)
maps = torch.nn.Sequential(
    torch.nn.Conv2d(1, 32, 5, padding=2),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(4608, 4),
)
hidden = torch.nn.Sequential(torch.nn.Linear(16, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 400))
opt = torch.optim.SGD([*maps.parameters(), *hidden.parameters()], lr=0.01)
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(maps(torch.rand(16, 1, 24, 24)), torch.randint(0, 4, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    wide = hidden(torch.randn(150, 16)).pow(2).mean()
    opt.zero_grad()
    wide.backward()
    opt.step()
print(loss.item(), wide.item())
