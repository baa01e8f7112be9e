"""A generator and its critic trained by one pass over one sum, the critic more often; a probe on detached features."""

import torch

torch.manual_seed(0)
maker, critic, probe = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 2)
optimizers = [torch.optim.SGD(net.parameters(), lr=0.05) for net in (maker, critic, probe)]
for turn in range(6):
    real, half = torch.randn(8, 4), torch.randint(2, (8,))
    made = maker(torch.randn(8, 2))
    judged = torch.nn.functional.softplus(-critic(real)).mean() + torch.nn.functional.softplus(critic(made.data)).mean()
    probed = torch.nn.functional.cross_entropy(probe(made.detach()), half)
    loss = (made.mean(0) - real.mean(0)).square().sum() + judged + probed
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers[turn % 2 :]:
        optimizer.step()
print(bool(loss.detach().isfinite()))
