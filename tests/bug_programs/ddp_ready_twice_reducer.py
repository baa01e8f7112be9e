# kind: ddp-ready-twice; symptom: gradients differ between the ranks; names: module.0.weight; torch only
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    out = net(torch.randn(6, 3))
    loss = out.mean()  #! loss = out.mean(); loss.backward(retain_graph=True)
    penalty = out.pow(2).mean()
    (loss + penalty).backward()  #! penalty.backward()  #< cause
    optimizer.step()
dist.destroy_process_group()
