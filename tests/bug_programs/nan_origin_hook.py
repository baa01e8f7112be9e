# kind: nan-origin; symptom: weights become NaN although loss and slopes are finite; names: normed, first
import torch

torch.manual_seed(0)
first = torch.randn(4, 4, requires_grad=True)
second = torch.randn(4, 1, requires_grad=True)


def normed(grad):
    return grad / grad.norm().clamp(min=1e-6)  #! return grad / grad.norm()


first.register_hook(normed)  #< cause
x = torch.rand(8, 4)
opt = torch.optim.SGD([first, second], lr=0.01)
for step in range(3):
    hidden = torch.relu(x @ first)
    loss = ((hidden * 0.0 if step == 1 else hidden) @ second).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
