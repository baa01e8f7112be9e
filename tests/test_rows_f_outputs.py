"""Custom Functions, SPEC rows F-11 to F-24: outputs, views, dirty and non-differentiable tensors."""

from __future__ import annotations

from both_engines import differential


@differential
def test_F_11_output_kinds(torch):
    "F-11: a tuple comes back as a tuple, and values that are no tensors pass through."

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "text", None, [x]

        @staticmethod
        def backward(ctx, g, *others):
            assert others == (None, None, None)
            return 2 * g

    x = torch.ones(2, requires_grad=True)
    y, text, nothing, items = Mixed.apply(x)
    y.sum().backward()
    return [y, text, nothing, items[0] is x, x.grad]
