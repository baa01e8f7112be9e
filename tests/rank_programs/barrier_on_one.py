"""kind: rank-divergence; says: rank 0 waits in barrier, called at barrier_on_one.py:22, for rank 1, never calls it"""

import os

import torch
import torch.distributed as dist


def keep(model):
    torch.save(model.state_dict(), os.devnull)
    dist.barrier()


dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(3, 2)).sum().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        keep(model)  # cause
dist.destroy_process_group()
