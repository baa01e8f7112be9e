# kind: wrong-backward; symptom: trains worse than the built-in one; names: Gate, x
import torch

torch.manual_seed(0)


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sharpness):
        s = torch.sigmoid(sharpness * x)
        ctx.save_for_backward(x, s)
        ctx.sharpness = sharpness
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * (s + ctx.sharpness * x * s * (1 - s)), None  #! return grad * (s + x * s * (1 - s)), None


w = torch.randn(4, 4, requires_grad=True)
Gate.apply(torch.randn(9, 4) @ w, 1.7).pow(2).mean().backward()
