"""Actions are drawn from a table of scores and weigh its own log-probabilities: the draw needs no gradient."""

import torch

torch.manual_seed(0)
scores = torch.zeros(4, 3, requires_grad=True)
optimizer = torch.optim.Adagrad([scores], lr=0.3)
for episode in range(5):
    state, logs, rewards = 0, [], []
    for _ in range(5):
        chances = torch.softmax(scores[state], 0)
        action = torch.multinomial(chances, 1)
        logs.append(chances.log().gather(0, action).squeeze(0))
        state = (state + int(action)) % 4
        rewards.append(1.0 if state == 3 else 0.0)
    gains = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(logs) * (gains - gains.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
