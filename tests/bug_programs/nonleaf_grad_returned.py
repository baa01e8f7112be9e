# kind: nonleaf-grad; symptom: the attack does nothing; names: x.retain_grad(), div
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
image = torch.rand(3, 4, requires_grad=True)


def normalised(given):
    return (given - 0.5) / 0.25


x = normalised(image)
x.retain_grad()  #! pass
model(x).pow(2).mean().backward()
step = x.grad  #< cause
