# kind: ddp-ready-twice; symptom: the averaged gradient of the first loss is halved twice; names: weight
import torch

torch.manual_seed(0)
world = 2
net = torch.nn.Linear(3, 2)


def average(p):
    p.grad.div_(world)


net.weight.register_post_accumulate_grad_hook(average)
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    policy, value = net(torch.randn(5, 3)).unbind(1)
    optimizer.zero_grad()
    first = policy.mean()
    pass  #! first.backward(retain_graph=True)
    second = value.square().mean()
    (first + second).backward()  #! second.backward()  #< cause
    optimizer.step()
