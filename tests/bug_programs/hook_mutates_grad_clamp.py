# kind: hook-mutates-grad; symptom: gradients differ with and without the hook on another tensor; names: clip
import torch


def clip(grad):
    limited = grad.clamp(-0.1, 0.1)  #! grad.clamp_(-0.1, 0.1)
    return limited  #! return grad


x = torch.ones(2, 2)
w = torch.ones(2, 2, requires_grad=True)
h = x @ w
h.register_hook(clip)
loss = ((h + w) ** 2).sum()
loss.backward()
