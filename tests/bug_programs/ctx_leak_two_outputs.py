# kind: ctx-leak; symptom: memory grows until the garbage collector runs; names: Polar
import torch


class Polar(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        radius = torch.sqrt(x * x + y * y)
        ctx.save_for_backward(x, y, radius)  #! ctx.save_for_backward(x, y)
        square = radius * radius  #! square = radius * radius; ctx.radius = radius  #< cause
        return radius, square

    @staticmethod
    def backward(ctx, g_radius, g_square):
        x, y, radius = ctx.saved_tensors  #! x, y = ctx.saved_tensors; radius = ctx.radius
        g = g_radius / radius + 2.0 * g_square
        return g * x, g * y


a = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
radius, square = Polar.apply(a, b)
(radius + square).sum().backward()
