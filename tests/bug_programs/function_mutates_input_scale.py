# kind: function-mutates-input; symptom: the input is different after the call; names: Double
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.mark_dirty(x)  #! pass
        x += bias  #< cause
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, grad.sum(0)


w = torch.ones(2, 3, requires_grad=True)
bias = torch.ones(3, requires_grad=True)
h = w * 1.0
out = Double.apply(h, bias)
out.sum().backward()
