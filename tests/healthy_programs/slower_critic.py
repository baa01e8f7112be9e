"""Two networks with one loss, one of which is stepped every second time: what it gets in between is left out."""

import torch

torch.manual_seed(0)
generator, critic = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
often = torch.optim.SGD(generator.parameters(), lr=0.05)
seldom = torch.optim.SGD(critic.parameters(), lr=0.05)
for step in range(8):
    often.zero_grad()
    seldom.zero_grad()
    loss = 0.5 * critic(torch.tanh(generator(torch.randn(6, 3)))).square().mean()
    loss.backward()
    often.step()
    if step % 2 == 1:
        seldom.step()
print(loss.item())
