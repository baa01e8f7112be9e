# kind: wrong-function; symptom: TypeError where the Function is applied; names: Scale, float, ctx
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor  #! ctx.save_for_backward(factor)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


x = torch.ones(3, requires_grad=True)
Scale.apply(x, 2.0).sum().backward()  #< cause
print(x.grad)
