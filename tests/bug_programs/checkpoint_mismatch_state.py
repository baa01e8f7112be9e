# kind: checkpoint-mismatch; symptom: gradients of another mask; names: preserve_rng_state
import torch

torch.manual_seed(0)
w = torch.randn(6, 6, requires_grad=True)
x = torch.randn(4, 6)


def noisy(h):
    return torch.tanh(h @ w) * (1 + 0.5 * torch.randn(4, 6))


for step in range(2):
    keep = True  #! keep = False
    out = torch.utils.checkpoint.checkpoint(noisy, x, use_reentrant=False, preserve_rng_state=keep)  #< cause
    out.pow(2).sum().backward()
    w.grad = None
