# kind: wrong-function; symptom: RuntimeError that expected a Variable; names: Shift, float
import torch


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        return x + by

    @staticmethod
    def backward(ctx, g):
        return g, None  #! return g, 0.0


x = torch.ones(3, requires_grad=True)
by = torch.zeros(3, requires_grad=False)
Shift.apply(x, by).sum().backward()
print(x.grad)
