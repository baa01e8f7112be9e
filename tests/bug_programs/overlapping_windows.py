# kind: overlapping-inplace; symptom: windows differ from what the formula gives; names: frames, unfold, several times
import torch

torch.manual_seed(0)
gain = torch.ones(4, requires_grad=True)
signal = torch.randn(12)
frames = signal.unfold(0, 4, 2).clone()  #! frames = signal.unfold(0, 4, 2)
frames.mul_(torch.linspace(0, 1, 4))
blocks = torch.randn(12).unfold(0, 4, 4)
blocks.mul_(torch.linspace(0, 1, 4))
((frames * gain).square().sum() + blocks.sum()).backward()
