# Dropout is on for two maps of one picture: they are to differ, and how far is printed.
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
picture, maps = torch.randn(2, 4), []
for _ in range(2):
    x = picture.clone().requires_grad_(True)
    net(x).sum().backward()  # retrograd: deliberate
    maps.append(x.grad)
assert not torch.equal(maps[0], maps[1])  # dropout must be active here
print(torch.equal(maps[0], maps[1]), bool((maps[0] - maps[1]).abs().mean() > 0))
