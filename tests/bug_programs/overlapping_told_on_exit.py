# kind: overlapping-inplace; symptom: could not window the frames; names: frames, expand
import torch

gain = torch.ones(3, requires_grad=True)
frames = (torch.ones(9) * gain.mean()).expand(4, 9).clone()  #! frames = (torch.ones(9) * gain.mean()).expand(4, 9)
try:
    frames.mul_(torch.linspace(0, 1, 9))
    frames.square().sum().backward()
except RuntimeError as problem:
    raise SystemExit(f"could not window the frames: {problem}") from problem
