# kind: memory-hog; symptom: out of memory as soon as the batch grows; names: gap, sub, memory
import torch

torch.manual_seed(0)
w = torch.randn(8, 8, requires_grad=True)
x = torch.randn(200, 8)
z = x @ w
half = (z * z).sum(-1)
gap = half[:, None] + half - 2 * z @ z.T  #! gap = z[:, None] - z
kernel = torch.exp(-gap)  #! kernel = torch.exp(-gap.square()).mean(-1)
(kernel @ z).square().mean().backward()
