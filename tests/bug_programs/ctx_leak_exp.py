# kind: ctx-leak; symptom: memory grows until the garbage collector runs; names: Exp
import torch


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)  #! ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors  #! y = ctx.y
        return grad * y


w = torch.zeros(4, requires_grad=True)
for step in range(3):
    loss = Exp.apply(w).sum()
    loss.backward()
    w.grad = None
