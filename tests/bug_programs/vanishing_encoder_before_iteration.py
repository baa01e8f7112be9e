# kind: vanishing; symptom: the encoder learns nothing, the iteration behind it forgets where it began; names: start
import torch

torch.manual_seed(7)
start = torch.randn(3, 5, requires_grad=True)
mix = (0.1 * torch.randn(5, 5)).requires_grad_()
shift = torch.randn(5, requires_grad=True)


def settled(z):
    for _ in range(40):
        z = torch.tanh(z @ mix + shift)  #< cause
    return z


state = settled(torch.randn(8, 3) @ start) + torch.randn(8, 3) @ start  #! state = settled(torch.randn(8, 3) @ start)
loss = (state - 0.3).pow(2).mean()
loss.backward()
print("start %.1e shift %.1e" % (start.grad.norm(), shift.grad.norm()))
