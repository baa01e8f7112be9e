"""kind: unreduced-gradient; says: slow.bias and slow.weight, not among those that are all-reduced"""

import torch
import torch.distributed as dist


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slow, self.fast = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.fast(self.slow(x).tanh())


def mean_of_ranks(grad):
    dist.all_reduce(grad)  # cause
    return grad / dist.get_world_size()


dist.init_process_group("gloo")
torch.manual_seed(3)
pair = Pair()
for one in pair.fast.parameters():
    one.register_hook(mean_of_ranks)
optimizer = torch.optim.SGD(pair.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for _ in range(3):
    x = torch.randn(5, 4)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(pair(x), x * 2).backward()
    optimizer.step()
dist.destroy_process_group()
