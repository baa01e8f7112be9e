"""Custom Functions beneath ``torch.func``: what they must declare, and their rules for batches; against PyTorch."""

from __future__ import annotations

from typing import Any

from both_engines import differential, raises


def square(torch: Any) -> Any:
    """A Function in the form that transforms ask for, without a rule for batches."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    return Square


@differential
def test_what_transforms_ask_for(torch: Any) -> Any:
    """``setup_context`` beneath any transform; beneath ``vmap`` one way to deal with batches, and not two."""
    func, x = torch.func, torch.tensor([1.0, 2.0, 3.0])
    Square = square(torch)

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    class Generated(Square):
        generate_vmap_rule = True

    class Both(Generated):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x, 0

    missing = "must override the setup_context staticmethod"
    return [
        raises(missing, func.grad(lambda v: Old.apply(v).sum()), x),
        raises(missing, func.vjp, Old.apply, x),
        raises(missing, func.vmap(Old.apply), x),
        raises("does not have vmap support", func.vmap(Square.apply), x),
        raises("both generate_vmap_rule=True and an overridden", func.vmap(Both.apply), x),
        func.grad(lambda v: Square.apply(v).sum())(x), func.vmap(Generated.apply)(x),
        func.vmap(func.grad(Generated.apply))(x), func.vjp(Square.apply, x)[1](x), Old.apply(x),
    ]  # fmt: skip


@differential
def test_rules_for_batches(torch: Any) -> Any:
    """The Function's own rule is called once for the batch, with its size and dimensions; its gradient is kept."""
    seen: list[Any] = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y, x + 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y + h, g * x

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            seen.append((info.batch_size, info.randomness, in_dims))
            moved = x.movedim(in_dims[0], 0)
            return Scaled.apply(moved, y), (0, 0)

    x, y = torch.arange(6.0).view(2, 3).requires_grad_(), torch.tensor([1.0, 2.0])
    product, plus = torch.func.vmap(Scaled.apply, in_dims=(1, None), out_dims=(1, 0))(x, y)
    (product.sum() + plus.sum()).backward()
    return seen, product, plus, x.grad
