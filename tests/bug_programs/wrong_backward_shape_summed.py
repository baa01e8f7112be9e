# kind: wrong-backward-shape; symptom: the scale gets a gradient many times too large; names: Scale, scale
import torch

torch.manual_seed(0)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x.mean(0) * scale

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        grad_x = (grad * scale / len(x)).expand(x.shape)
        return grad_x, (grad * x.mean(0)).sum(0, keepdim=True)  #! return grad_x, grad * x


scale = torch.ones(1, requires_grad=True)
x = torch.randn(4, 3)
loss = (Scale.apply(x, scale) ** 2).sum()
loss.backward()
