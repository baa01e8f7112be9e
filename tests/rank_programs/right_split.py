"""A layer whose rows are split over the ranks: parts are summed, and the bias is added once, after the sum."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as collectives

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(5 + rank)
rows = torch.nn.Parameter(torch.randn(3, 2))
offset = torch.nn.Parameter(torch.zeros(2))
optimizer = torch.optim.SGD([rows, offset], lr=0.01)
torch.manual_seed(0)
for _ in range(2):
    x = torch.randn(5, 3 * ranks)
    optimizer.zero_grad()
    out = collectives.all_reduce(x.chunk(ranks, 1)[rank] @ rows) + offset
    (out - x[:, :2]).abs().mean().backward()
    optimizer.step()
dist.destroy_process_group()
