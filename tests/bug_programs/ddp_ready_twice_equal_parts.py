# kind: ddp-ready-twice; symptom: the gradient is averaged once too often; names: weight, whose forward passes both came before
import torch

torch.manual_seed(0)
world = 2
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def average(p):
    p.grad /= world


net.weight.register_post_accumulate_grad_hook(average)
for step in range(3):
    batch = torch.ones(4, 3)
    opt.zero_grad()
    first, second = (net(part).square().mean() / 2 for part in batch.chunk(2))
    pass  #! first.backward()
    (first + second).backward()  #! second.backward()  #< cause
    opt.step()
