# kind: nan-origin; symptom: the gradient is infinite below one layer; names: rescale, Linear
import torch

torch.manual_seed(0)
lower, upper = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
gain = 0.0


def rescale(module, given, came):
    return tuple(None if grad is None else grad / (1.0 + gain) for grad in given)  #! return tuple(None if grad is None else grad / gain for grad in given)


upper.register_full_backward_hook(rescale)  #< cause
loss = upper(torch.tanh(lower(torch.ones(2, 3)))).sum()
loss.backward()
print(lower.weight.grad.norm())
