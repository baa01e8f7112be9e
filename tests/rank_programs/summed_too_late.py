"""kind: unreduced-gradient; says: reduces gradients that the step, has used already"""

import torch
import torch.distributed as dist


class Averager:
    def __init__(self, parameters):
        self.parameters = list(parameters)

    def __call__(self):
        for parameter in self.parameters:
            dist.all_reduce(parameter.grad)  # cause
            parameter.grad /= dist.get_world_size()


def fit(model, average, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).cosh().mean().backward()
        optimizer.step()
        average()


dist.init_process_group("gloo")
torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
torch.manual_seed(1 + dist.get_rank())
fit(net, Averager(net.parameters()))
dist.destroy_process_group()
