"""Constants that were computed in the same step and are meant as such: targets, weights, scales, estimates, states."""

import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
value = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*net.parameters(), *value.parameters()], lr=0.01)
memory = torch.zeros(8, 4)
for _ in range(4):
    x, reward = torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        earlier = torch.log_softmax(net(x), 1)[:, 0]
        bound = reward + 0.9 * value(x.roll(1, 0)).squeeze(1)
    scores = net(x)
    logp = torch.log_softmax(scores, 1)[:, 0]
    worth = value(x).squeeze(1)
    advantage = (bound - worth).detach()
    ratio = torch.exp(logp - earlier)
    rounded = scores + (scores.round() - scores).detach()
    scaled = scores / scores.abs().max().item()
    labels = torch.tensor(scores.argmax(1).tolist())
    unit = scores - scores.max(1, keepdim=True).values.detach()
    memory = 0.5 * memory + scores
    loss = -(ratio * advantage).mean() + (worth - bound).square().mean() + 0.1 * (logp - earlier).mean()
    loss = loss + rounded.square().mean() + torch.nn.functional.cross_entropy(scaled, labels) + unit.exp().mean()
    loss = loss + memory.square().mean() * min(1.0, float(reward.abs().mean()))
    memory = memory.detach()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
