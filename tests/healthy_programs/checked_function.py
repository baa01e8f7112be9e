import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        out = x.mm(weight.t())
        out += bias
        return out

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g.mm(weight), g.t().mm(x), g.sum(0)


torch.manual_seed(1)
x, weight, bias = (torch.randn(*size, dtype=torch.double, requires_grad=True) for size in ((3, 4), (2, 4), (2,)))
print(torch.autograd.gradcheck(Scale.apply, (x, weight, bias)))
print(torch.autograd.gradgradcheck(Scale.apply, (x, weight, bias)))
