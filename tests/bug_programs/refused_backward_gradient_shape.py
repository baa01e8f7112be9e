# kind: refused-backward; symptom: RuntimeError on the first step; names: heights, (4,), (3,)
import torch

torch.manual_seed(0)
slope = torch.ones(3, requires_grad=True)
heights = slope * torch.rand(4, 3)
sums = heights.sum(0)
sums.backward(torch.ones(3))  #! heights.sum(1).backward(torch.ones(3))
print(slope.grad)
