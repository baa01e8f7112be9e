# kind: refused-write; symptom: RuntimeError at the first gate; names: gates, chunk, clone
import torch

torch.manual_seed(0)
weight = torch.rand(3, 4, requires_grad=True)
gates = (torch.rand(2, 3) @ weight).chunk(2, dim=1)
opened = gates[0] + 1.0
gates[1].mul(opened).sum().backward()  #! gates[0].add_(1.0).sum().backward()
print(weight.grad)
