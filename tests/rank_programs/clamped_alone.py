"""kind: unreduced-gradient; says: writes into them on rank 1 only"""

import torch
import torch.distributed as dist


def keep_positive(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter.abs() + 1e-3)  # cause


dist.init_process_group("gloo")
critic = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(critic.parameters(), lr=0.05)
torch.manual_seed(dist.get_rank())
for _ in range(3):
    optimizer.zero_grad()
    critic(torch.randn(6, 4)).square().mean().backward()
    optimizer.step()
    if dist.get_rank() == 1:
        keep_positive(critic)
dist.destroy_process_group()
