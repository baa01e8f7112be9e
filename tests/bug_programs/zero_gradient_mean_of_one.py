# kind: zero-gradient; symptom: the critic's loss does not move; names: sub, value, weight
import torch


def centred(value):
    return value - value.mean(0, keepdim=True)  #! return value - value.mean(1, keepdim=True) #< cause


torch.manual_seed(0)
coder = torch.nn.Linear(6, 1)
states = torch.randn(40, 6)
returns = states[:, :1] * 2
for step in range(2):
    loss = (centred(coder(states)) - returns).square().mean()
    grads = torch.autograd.grad(loss, [coder.weight])
    with torch.no_grad():
        coder.weight -= 0.1 * grads[0]
