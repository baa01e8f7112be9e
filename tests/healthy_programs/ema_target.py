import copy

import torch

torch.manual_seed(8)
online = torch.nn.Linear(5, 4)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(4):
    state, following = torch.randn(20, 5), torch.randn(20, 5)
    reward = torch.randn(20)
    with torch.no_grad():
        goal = reward + 0.9 * target(following).max(1)[0]
    value = online(state)[:, 0]
    loss = ((value - goal) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), online.parameters()):
            slow.mul_(0.95).add_(fast, alpha=0.05)
print("loss", loss.item() >= 0)
