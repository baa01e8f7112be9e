"""kind: optimizer-mismatch; says: was given parameters that FullyShardedDataParallel, has replaced since"""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # cause
sharded = FullyShardedDataParallel(net, device_id=torch.device("cpu"))
torch.manual_seed(dist.get_rank())
for _ in range(3):
    optimizer.zero_grad()
    sharded(torch.randn(5, 3)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
