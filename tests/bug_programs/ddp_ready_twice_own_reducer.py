# kind: ddp-ready-twice; symptom: the reducer refuses a parameter in the second part of the batch; names: mark, twice
import torch

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
ready = set()


def mark(p):
    if id(p) in ready:
        raise RuntimeError("this parameter is ready already")
    ready.add(id(p))


w.register_post_accumulate_grad_hook(mark)
for _ in range(2):
    opt.zero_grad()
    batch = torch.randn(8, 4)
    for part in [batch]:  #! for part in batch.chunk(2):
        loss = (part @ w).pow(2).mean()
        loss.backward()  #< cause
    ready.clear()
    opt.step()
