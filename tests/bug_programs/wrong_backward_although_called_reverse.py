# kind: wrong-backward; symptom: the fit stays behind; names: ReverseSquare.backward
import torch


class ReverseSquare(torch.autograd.Function):
    """The square, passed through two products in reverse order, as a surrogate for pow."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x  #! return g * x


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
ReverseSquare.apply(x).sum().backward()
print(x.grad)
