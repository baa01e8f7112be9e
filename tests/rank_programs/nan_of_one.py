"""kind: nan-origin; says: rank 1: div"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    counts = torch.ones(4, 1)
    if (rank, step) == (1, 1):
        counts[2] = 0
    optimizer.zero_grad()
    share = net(torch.ones(4, 3)) / counts  # cause
    share.square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
