"""Rows of one result that are compared with the rows after them: smoothness, an equation's residual, a rollout."""

import torch

torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
inputs, seen = torch.randn(10, 2), torch.randn(10, 3)
drift = torch.randn(10, 3)
for epoch in range(3):
    path = net(inputs)
    fit = (path - seen).pow(2).mean()
    smooth = torch.stack([(path[step + 1] - path[step]).pow(2).sum() for step in range(9)]).mean()
    law = torch.stack([(path[step] + 0.1 * drift[step] - path[step + 1]).pow(2).sum() for step in range(9)]).mean()
    loss = fit + 0.1 * smooth + 0.1 * law
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# nothing holds the rows to data but the equation itself and where it begins
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    path = net(inputs)
    law = sum((path[step] + 0.1 * (drift[step] - path[step]) - path[step + 1]).pow(2).sum() for step in range(9))
    loss = law + (path[0] - seen[0]).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
