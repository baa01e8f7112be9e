"""Constants in a loss: what earlier steps left, a reported value in place of the one that trains, counts of data."""

import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
smoothed = torch.zeros(())
for _ in range(4):
    x, label = torch.randn(10, 4), torch.randint(3, (10,))
    logits = net(x)
    fit = torch.nn.functional.cross_entropy(logits, label)
    wrong = (logits.argmax(1) != label).float()
    loss = (fit * (1 + wrong.mean()) + 0.1 * smoothed) + (label == 0).float().mean()
    shown = loss + (wrong.mean() - loss).detach()
    opt.zero_grad()
    shown.backward()
    opt.step()
    smoothed = 0.9 * smoothed + 0.1 * wrong.mean()
print(float(shown.detach()))
