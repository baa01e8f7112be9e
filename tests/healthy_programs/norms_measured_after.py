"""Clips what two batches add up to, and measures norms by functions that clip, without clipping."""

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
second = torch.optim.Adam(critic.parameters())
for step in range(8):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean() / 2
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if step % 2:
        optimizer.step()
        print(round(float(torch.nn.utils.clip_grad_norm_(net.parameters(), float("inf"))), 4))
        optimizer.zero_grad()
    second.zero_grad()
    critic(x).sub(1).pow(2).mean().backward()
    second.step()
    print(round(float(torch.nn.utils.clip_grad_norm_(critic.parameters(), 1e9)), 4))
