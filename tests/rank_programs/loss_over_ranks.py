"""kind: summed-on-every-rank; says: divided by the number of ranks, DistributedDataParallel averages, too small"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
tagger = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 3))
optimizer = torch.optim.RMSprop(tagger.parameters(), lr=0.01)
for _ in range(2):
    words, tags = torch.randn(7, 5), torch.randint(0, 3, (7,))
    cost = torch.nn.functional.cross_entropy(tagger(words), tags)
    cost = cost.div(dist.get_world_size())  # cause
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
dist.destroy_process_group()
