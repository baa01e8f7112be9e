# kind: wrong-backward-shape; symptom: returned an invalid gradient at index 1; names: Project, w
import torch

torch.manual_seed(0)


class Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        grad_w = x.t() @ grad  #! grad_w = grad.t() @ x
        return grad @ w.t(), grad_w  #< cause


w = torch.randn(5, 2, requires_grad=True)
x = torch.randn(7, 5)
Project.apply(x, w).sum().backward()
