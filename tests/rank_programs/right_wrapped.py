"""Accumulation under no_sync, weights clamped, heads that only some ranks use, a table that is each rank's own."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as collectives


class Heads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 4)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(4, size) for size in (1, 2))

    def forward(self, x, head):
        return self.heads[head](self.body(x).relu())


def looked_up(table, ranks):
    """Ask every rank for rows of its table, and add up what they send."""
    wanted = torch.randint(0, 20, (ranks, 5, 2))
    asked = torch.empty_like(wanted)
    dist.all_to_all_single(asked, wanted)
    rows = table(asked.flatten(0, 1))
    return collectives.all_to_all_single(torch.empty_like(rows), rows).view(ranks, 5, 3).sum(0)


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
net = torch.nn.parallel.DistributedDataParallel(Heads(), find_unused_parameters=True)
torch.manual_seed(7)
table = torch.nn.EmbeddingBag(20, 3, mode="sum")
optimizer = torch.optim.SGD([*net.parameters(), *table.parameters()], lr=0.05)
torch.manual_seed(rank)
for step in range(3):
    optimizer.zero_grad()
    with net.no_sync():
        (net(torch.randn(5, 3), (rank + step) % ranks).square().mean() / 2).backward()
    (net(looked_up(table, ranks), step % ranks).square().mean() / 2).backward()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if rank == 0:
        print("norm", float(norm))
    optimizer.step()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.clamp_(-1, 1)
dist.destroy_process_group()
