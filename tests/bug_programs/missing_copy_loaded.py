# kind: missing-copy; symptom: learning is as unstable as without a target network; names: target, online, copy.deepcopy(online)
import copy

import torch

torch.manual_seed(0)
online = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
target = copy.deepcopy(online)  #! target = online
optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
for step in range(6):
    state, following, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    action = torch.randint(0, 2, (8, 1))
    q = online(state).gather(1, action).squeeze(1)
    with torch.no_grad():
        goal = reward + 0.9 * target(following).max(1).values
    loss = (q - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2:
        target.load_state_dict(online.state_dict())
