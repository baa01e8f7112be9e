"""Custom Functions, SPEC rows F-01 to F-10: class and node, apply, arguments, environment, setup_context."""

from __future__ import annotations

from both_engines import differential


@differential
def test_F_01_function_and_node_class(torch):
    "F-01: every Function has a node class <Name>Backward that knows its Function."

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    y = Twice.apply(torch.ones(2, requires_grad=True))
    node = type(y.grad_fn)
    return [node.__name__, node._forward_cls is Twice, Twice._backward_cls is node, y.grad_fn]
