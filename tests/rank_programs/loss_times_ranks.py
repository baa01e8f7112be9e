"""kind: summed-on-every-rank; says: multiplied by the number of ranks, DistributedDataParallel"""

import torch
import torch.distributed as dist


class Settings:
    def __init__(self):
        dist.init_process_group("gloo")
        self.rank, self.processes = dist.get_rank(), dist.get_world_size()


def main(settings):
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    torch.manual_seed(settings.rank)
    for _ in range(2):
        x = torch.randn(4, 3)
        error = torch.nn.functional.smooth_l1_loss(net(x), x.sum(1, keepdim=True))
        error *= settings.processes  # cause
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
    dist.destroy_process_group()


main(Settings())
