# kind: lost-update; symptom: the loss stays where it is; names: slope, offset, 4 steps
import torch


def step(values, rate):
    with torch.no_grad():
        for value in values:
            value -= rate * value.grad  #! value = value - rate * value.grad
    for value in values:
        value.grad = None


slope = torch.tensor([0.5], requires_grad=True)
offset = torch.tensor([2.0], requires_grad=True)
times = torch.tensor([1.0, 2.0, 3.0, 4.0])
for _ in range(4):
    (slope * times + offset - 3.0).square().mean().backward()
    step([slope, offset], 0.01)
