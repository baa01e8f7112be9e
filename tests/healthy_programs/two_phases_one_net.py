# Two optimizers of one net: for warming up and after, or by turns, with losses through nets that nobody trains.
import torch

torch.manual_seed(0)
net, critic = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
features, painter = torch.nn.Linear(4, 6), torch.nn.Linear(4, 4)
warm = torch.optim.Adam(net.parameters(), 1e-3)
main = torch.optim.SGD(net.parameters(), 1e-2)
for step in range(6):
    x = torch.randn(8, 4)
    optimizer = warm if step < 3 else main
    loss = (net(x) - x).pow(2).mean() if step < 3 else -critic(net(x)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
by_pixels = torch.optim.Adam(painter.parameters(), 1e-3)
by_features = torch.optim.SGD(painter.parameters(), 1e-2)
for _ in range(3):
    x = torch.randn(8, 4)
    loss = (painter(x) - x).pow(2).mean()
    by_pixels.zero_grad()
    loss.backward()
    by_pixels.step()
    wanted = features(x).detach()
    loss = (features(painter(x)) - wanted).pow(2).mean()
    by_features.zero_grad()
    loss.backward()
    by_features.step()
print("trained", loss.dtype)
