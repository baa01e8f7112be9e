"""Custom Functions, SPEC rows F-48 and F-49: the jvp staticmethod, views and in-place writes in forward mode."""

from __future__ import annotations

from both_engines import differential


@differential
def test_F_48_jvp(torch):
    "F-48: jvp gets one tangent per input and gives the output its tangent."

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_forward(x, w)
            return x * w

        @staticmethod
        def jvp(ctx, dx, dw):
            x, w = ctx.saved_tensors
            return dx * w + x * dw

    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        w = torch.autograd.forward_ad.make_dual(torch.tensor([3.0]), torch.tensor([10.0]))
        return list(torch.autograd.forward_ad.unpack_dual(Product.apply(x, w)))
