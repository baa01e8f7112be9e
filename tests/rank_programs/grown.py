"""kind: unreduced-gradient; says: were put into the module, after DistributedDataParallel was made, extra"""

import torch
import torch.distributed as dist


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.extra = None

    def forward(self, x):
        h = self.first(x)
        return h if self.extra is None else h + self.extra(h)


dist.init_process_group("gloo")
torch.manual_seed(3)
pair = Pair()
wrapped = torch.nn.parallel.DistributedDataParallel(pair)
pair.extra = torch.nn.Linear(3, 3)  # cause
adam = torch.optim.Adam(wrapped.parameters(), lr=0.01)
torch.manual_seed(10 + dist.get_rank())
for _ in range(3):
    adam.zero_grad()
    x = torch.randn(5, 3)
    torch.nn.functional.mse_loss(wrapped(x), x.flip(1)).backward()
    adam.step()
dist.destroy_process_group()
