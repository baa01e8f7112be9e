# kind: freed-graph; symptom: RuntimeError although the first pass retains its graph; names: settled, retain_graph=True
import torch


class Root(torch.autograd.Function):
    """The root of y ** 3 + y = x, by Newton steps; its derivative by the equation that it solves."""

    @staticmethod
    def forward(ctx, x):
        y = torch.zeros_like(x)
        for _ in range(30):
            y = y - (y**3 + y - x) / (3 * y**2 + 1)
        with torch.enable_grad():
            ctx.start = y.detach().requires_grad_()
            ctx.settled = ctx.start**3 + ctx.start
        return y

    @staticmethod
    def backward(ctx, incoming):
        ones = torch.ones_like(incoming)
        slope = torch.autograd.grad(ctx.settled, ctx.start, ones, retain_graph=True)  #! slope = torch.autograd.grad(ctx.settled, ctx.start, ones)
        return incoming / slope[0]


torch.manual_seed(0)
scale = torch.ones(5, requires_grad=True)
roots = Root.apply(scale * torch.randn(5))
size, spread = roots.square().mean(), (roots - roots.mean()).abs().mean()
size.backward(retain_graph=True)
spread.backward()
