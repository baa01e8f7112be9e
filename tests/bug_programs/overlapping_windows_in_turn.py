# kind: overlapping-inplace; symptom: later windows are tapered twice; names: frames, unfold, other parts
import torch

torch.manual_seed(1)
gain = torch.ones(3, requires_grad=True)
signal = torch.zeros(12)
signal.unfold(0, 3, 1)[::3] += torch.hann_window(3)
frames = (signal + torch.randn(12)).unfold(0, 3, 1).clone()  #! frames = (signal + torch.randn(12)).unfold(0, 3, 1)
for start in range(len(frames)):
    frames[start] *= torch.hann_window(3)
(frames * gain).square().sum().backward()
