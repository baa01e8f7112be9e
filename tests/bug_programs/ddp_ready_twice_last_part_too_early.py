# kind: ddp-ready-twice; symptom: ranks drift apart; names: module.weight, no forward pass in between; torch only
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(6, 3)
    optimizer.zero_grad()
    with net.no_sync():
        losses = [net(part).pow(2).mean() for part in (x, x + 1)]
        pass  #! last = net(x - 1).pow(2).mean()
        for loss in losses:
            loss.backward()  #< cause
    last = net(x - 1).pow(2).mean()  #! pass
    last.backward()
    optimizer.step()
dist.destroy_process_group()
