# kind: unused-parameter; symptom: every part of the gradient is zero; names: flat, after misfit, None
import torch

torch.manual_seed(5)
sizes = (6, 2)
flat = torch.randn(sum(sizes), requires_grad=True)
inputs, truth = torch.randn(12, 3), torch.randn(12, 2)


def predict(vector):
    weight, bias = vector[:6].view(3, 2), vector[6:]
    return inputs @ weight + bias


for step in range(4):
    misfit = (predict(flat) - truth).pow(2).mean()
    (whole,) = torch.autograd.grad(misfit, [flat])  #! parts = torch.split(flat, sizes)
    slopes = whole.split(sizes)  #! slopes = torch.autograd.grad(misfit, parts, allow_unused=True)
    slopes = [torch.zeros(size) if slope is None else slope for slope, size in zip(slopes, sizes)]
    with torch.no_grad():
        flat -= 0.1 * torch.cat(slopes)
