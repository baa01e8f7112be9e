# kind: ddp-ready-twice; symptom: Expected to mark a variable ready only once; names: trunk
import torch

torch.manual_seed(0)
x = torch.randn(6, 3)
trunk = torch.randn(3, 4, requires_grad=True)
head = torch.randn(4, 2, requires_grad=True)
ready = []


def mark_ready(p):
    ready.append(tuple(p.shape))


trunk.register_post_accumulate_grad_hook(mark_ready)
shared = torch.tanh(x @ trunk)
first = (shared @ head).mean()
second = (shared**2).mean()
(first + second).backward()  #! first.backward(retain_graph=True); second.backward()
