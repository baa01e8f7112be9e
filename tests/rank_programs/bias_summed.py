"""kind: summed-on-every-rank; says: adds the bias, once for each rank"""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as collectives


class Gathering(torch.nn.Module):
    def __init__(self, rank, ranks):
        super().__init__()
        whole = torch.randn(6, 2, generator=torch.Generator().manual_seed(4))
        self.rows = torch.nn.Parameter(whole.chunk(ranks)[rank].clone())
        self.offset = torch.nn.Parameter(torch.ones(2))

    def forward(self, columns):
        mine = torch.addmm(self.offset, columns, self.rows)  # cause
        return collectives.all_reduce(mine)


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
layer = Gathering(rank, ranks)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
torch.manual_seed(0)
for _ in range(2):
    x = torch.randn(5, 6)
    optimizer.zero_grad()
    (layer(x.chunk(ranks, 1)[rank]) - x[:, :2]).abs().mean().backward()
    optimizer.step()
dist.destroy_process_group()
