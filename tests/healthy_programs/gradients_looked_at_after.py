"""What happens to ``.grad`` after the training that no step uses: saliency, layers that are drawn anew, new phases."""

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(20, 4), torch.randn(20, 1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()

probe = x[:5].clone().requires_grad_(True)
net(probe).sum().backward()
saliency = (probe.grad * probe.detach()).abs().mean(0)
torch.nn.init.normal_(net[0].bias, std=0.01)
with torch.no_grad():
    net[2].weight.mul_(0.5)
print(loss.item() > 0, saliency.shape)
