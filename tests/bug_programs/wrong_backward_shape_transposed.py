# kind: wrong-backward-shape; symptom: backward raises; names: w, grad_w.transpose(0, 1)
import torch


class Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.transpose(0, 1), x.transpose(0, 1) @ grad  #! return grad @ w.transpose(0, 1), grad.transpose(0, 1) @ x


torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)
Project.apply(torch.randn(5, 3), w).pow(2).mean().backward()
