"""Custom Functions, SPEC rows F-37 to F-47 and F-50 to F-53: backward, its results, hooks, errors, double backward."""

from __future__ import annotations

from both_engines import differential


@differential
def test_F_37_calling_backward(torch):
    "F-37: backward gets one gradient per output and may return a bare tensor for its only input."
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return 2 * a + 3 * b

    x = torch.ones(2, requires_grad=True)
    p, q = Both.apply(x)
    (p.sum() + 5 * q.sum()).backward()
    return [x.grad, seen]
