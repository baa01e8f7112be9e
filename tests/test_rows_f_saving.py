"""Custom Functions, SPEC rows F-25 to F-36: what ctx saves, checks, releases and gives back."""

from __future__ import annotations

from both_engines import differential


@differential
def test_F_25_save_for_backward(torch):
    "F-25: tensors and None are saved in order, and the last call of save_for_backward wins."

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            ctx.save_for_backward(w, None, x)
            return x * w

        @staticmethod
        def backward(ctx, g):
            w, nothing, x = ctx.saved_tensors
            assert nothing is None
            return g * w, g * x

    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    Saves.apply(x, w).sum().backward()
    return [x.grad, w.grad]
