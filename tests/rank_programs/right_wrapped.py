"""Accumulation under no_sync, weights clamped on all ranks, heads that only some ranks use, one rank that prints."""

import torch
import torch.distributed as dist


class Heads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 4)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(4, size) for size in (1, 2))

    def forward(self, x, head):
        return self.heads[head](self.body(x).relu())


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
net = torch.nn.parallel.DistributedDataParallel(Heads(), find_unused_parameters=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
torch.manual_seed(rank)
for step in range(3):
    optimizer.zero_grad()
    with net.no_sync():
        (net(torch.randn(5, 3), (rank + step) % ranks).square().mean() / 2).backward()
    (net(torch.randn(5, 3), step % ranks).square().mean() / 2).backward()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if rank == 0:
        print("norm", float(norm))
    optimizer.step()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.clamp_(-1, 1)
dist.destroy_process_group()
