# kind: wrong-backward-count; symptom: RuntimeError in backward; names: Scale
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None  #! return g * ctx.factor


w = torch.ones(3, requires_grad=True)
Scale.apply(w, 2.0).sum().backward()
print(w.grad)
