"""Layers that stay in evaluation mode while the rest trains, an attack on a network in it, and statistics at hand."""

import torch


def network():
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 2)
    )


torch.manual_seed(0)
points, classes = torch.randn(32, 4), torch.randint(0, 2, (32,))
loss_of = torch.nn.functional.cross_entropy

net = network()
for layer in net:
    if isinstance(layer, torch.nn.BatchNorm1d):
        layer.eval()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss_of(net(points), classes).backward()
    optimizer.step()

net.train()
net(points)
net.eval()  # statistics are at hand, and the small batches of what follows are not to change them
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss_of(net(points[:2]), classes[:2]).backward()
    optimizer.step()

victim = network().eval()
shift = torch.zeros_like(points, requires_grad=True)
attack = torch.optim.Adam([shift], lr=0.01)
for _ in range(3):
    attack.zero_grad()
    loss = -loss_of(victim(points + shift), classes)
    loss.backward()
    attack.step()
print(round(loss.item(), 3) < 0)
