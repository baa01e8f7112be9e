# What a result can be differentiated by is found out by asking; a refusal is caught.
import torch


def sensitivity(result, given):
    try:
        return torch.autograd.grad(result, given, retain_graph=True)[0]
    except RuntimeError:
        return torch.zeros_like(given)


positions, weight = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 3.0], requires_grad=True)
total = (positions * weight).sum()
print(sensitivity(total, positions).tolist(), sensitivity(total, weight).tolist())
