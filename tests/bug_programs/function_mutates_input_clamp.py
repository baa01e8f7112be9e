# kind: function-mutates-input; symptom: gradient differs from finite differences; names: Clip
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.clamp(-1.0, 1.0)  #! out = x.clamp_(-1.0, 1.0).clone()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * (out.abs() < 1.0)


w = torch.full((3,), 2.0, requires_grad=True)
h = w * 0.75
loss = (Clip.apply(h) + h * 3.0).sum()
loss.backward()
