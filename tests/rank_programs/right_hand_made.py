"""Gradients in one flat sum, written back; a value averaged by one rank's order of others; data of other lengths."""

import torch
import torch.distributed as dist


def average(parameters, ranks):
    flat = torch.cat([one.grad.flatten() for one in parameters])
    dist.all_reduce(flat)
    for one, part in zip(parameters, (flat / ranks).split([one.numel() for one in parameters]), strict=True):
        one.grad.copy_(part.view_as(one))


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(2)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
torch.manual_seed(rank)
for _ in range(3):
    x = torch.randn(4 + rank, 3)
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    optimizer.zero_grad()
    loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).sum() / count * ranks
    loss.backward()
    average(list(net.parameters()), ranks)
    optimizer.step()
dist.destroy_process_group()
