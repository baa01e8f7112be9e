# kind: slow-node; symptom: one custom Function takes all the time; names: Square, entry by entry
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        out = torch.zeros_like(x)
        if x.numel() > 0:  #! for i in range(x.shape[0]):
            out = 2.0 * grad * x  #! out[i] = 2.0 * grad[i] * x[i] #< cause
        return out


torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)
loss = Square.apply(torch.randn(400, 3) @ w).mean()
loss.backward()
