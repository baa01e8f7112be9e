# kind: ddp-ready-twice; symptom: Expected to mark a variable ready only once; names: w
import torch

torch.manual_seed(0)
x = torch.randn(5, 3)
w = torch.randn(3, 1, requires_grad=True)
ready = set()


def reduce(p):
    if id(p) in ready:
        raise RuntimeError("Expected to mark a variable ready only once.")
    ready.add(id(p))


w.register_post_accumulate_grad_hook(reduce)
pred = x @ w
data_loss = (pred**2).mean()
norm_loss = pred.abs().mean()
total = data_loss + norm_loss  #! data_loss.backward(retain_graph=True)
total.backward()  #! norm_loss.backward()  #< cause
