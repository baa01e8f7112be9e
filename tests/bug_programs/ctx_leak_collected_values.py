# kind: ctx-leak; symptom: activations of finished steps stay until the garbage collector runs; names: ctx.out
import gc

import torch

torch.manual_seed(0)
x = torch.randn(16, 4)
w = torch.randn(4, 4, requires_grad=True)


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pre):
        out = 1.0 / (1.0 + torch.exp(-pre))
        ctx.save_for_backward(out)  #! ctx.out = out
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors  #! out = ctx.out
        return grad * out * (1.0 - out)


def step():
    loss = ((Gate.apply(x @ w) - 0.5) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w.sub_(w.grad)
        w.grad.zero_()
    return loss.item()


gc.disable()
print([step() for _ in range(12)])
gc.enable()
