"""Each task adapts one number by a step of its own, and differentiates what came of it: the number itself stays."""

import torch

gain = torch.tensor(0.5, requires_grad=True)
for setpoint in (1.0, 2.0, 3.0, 4.0, 5.0):
    before = (gain - setpoint) ** 2
    (slope,) = torch.autograd.grad(before, gain, create_graph=True)
    adapted = gain - 0.1 * slope
    (adapted - setpoint).square().backward()
print(gain.grad)
