# kind: unused-parameter; symptom: Expected to have finished reduction in the prior iteration; names: module.spare.weight, find_unused_parameters=True; torch only
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(3, 4)
        self.spare = torch.nn.Linear(4, 1)  #< cause

    def forward(self, x):
        return self.spare(torch.tanh(self.used(x)))  #! return torch.tanh(self.used(x))


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
try:
    net = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        loss = net(torch.randn(6, 3)).sum()
        loss.backward()
        optimizer.step()
finally:
    dist.destroy_process_group()
