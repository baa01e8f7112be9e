# kind: wrong-backward; symptom: the gate learns slowly; names: Gate, x
import torch

torch.manual_seed(2)


class Round(torch.autograd.Function):
    """Rounds, and lets gradients pass: wrong on purpose."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -0.5 * grad


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)  #! ctx.save_for_backward(x)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x_or_y = ctx.saved_tensors[0]
        x = torch.log(x_or_y / (1 - x_or_y))  #! x = torch.sigmoid(x_or_y)
        return grad * (x_or_y + x * x_or_y * (1 - x_or_y))  #< cause


w = torch.randn(4, 4, requires_grad=True)
x = torch.randn(8, 4)
hidden = Gate.apply(x @ w)
loss = (Round.apply(4 * hidden) / 4).pow(2).mean() + Reverse.apply(hidden).mean()
loss.backward()
