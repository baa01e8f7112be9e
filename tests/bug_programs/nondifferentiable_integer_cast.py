# kind: nondifferentiable; symptom: element 0 of tensors does not require grad; names: gain
import torch

torch.manual_seed(0)
samples = torch.randn(6)
gain = torch.ones(6, requires_grad=True)


def quantise(signal):
    scaled = signal * gain * 8.0
    return scaled  #! return scaled.to(torch.int64)


levels = quantise(samples)
loss = (levels.to(torch.float32) / 8.0).sum()
loss.backward()
