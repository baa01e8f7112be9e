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


@differential
def test_rules_for_batches_within_functions(torch: Any) -> Any:
    """The Function's rule computes wherever entries reach it: in functions, nested batches, around and in derivatives.

    This one gives other numbers than ``forward``, so that it shows which of them was asked.
    """
    func = torch.func

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            x, y = ctx.saved_tensors
            return (0 if a is None else a * y) + (0 if b is None else b * x)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            x, y = (t.movedim(d, 0) if d is not None else t[None] for t, d in zip((x, y), in_dims, strict=True))
            assert info.batch_size in (*x.shape[:1], *y.shape[:1])
            return 100 * Product.apply(x, y), 0

    x, w = torch.arange(6.0).reshape(3, 2) + 1, torch.tensor([2.0, 3.0])
    leaf = x.clone().requires_grad_()

    def by_w(v: Any) -> Any:
        return Product.apply(v, w)

    def total(v: Any) -> Any:
        return by_w(v).sum()

    programs: dict[str, Any] = {
        "function": lambda: func.vmap(by_w)(x),
        "both": lambda: func.vmap(lambda v: Product.apply(v.sin(), v) + v, in_dims=1)(x),
        "not of the batch": lambda: func.vmap(lambda v: v * Product.apply(w, w))(x),
        "twice": lambda: func.vmap(lambda v: Product.apply(by_w(v), v))(x),
        "gradients of entries": lambda: func.vmap(func.grad_and_value(total))(x),
        "gradient of a batch": lambda: func.grad(lambda z: func.vmap(by_w)(z).sum())(x),
        "by what is shared": lambda: func.grad(lambda q: func.vmap(lambda v: Product.apply(v, q))(x).sum())(w),
        "along a direction": lambda: func.jvp(lambda z: func.vmap(total)(z).sum(), (x,), (x,)),
        "directions of entries": lambda: func.vmap(lambda v: func.jvp(total, (v,), (v,)))(x),
        "batches of batches": lambda: func.vmap(func.vmap(lambda v: Product.apply(v, v)))(x[..., None]),
        "a batch within": lambda: func.vmap(lambda q: func.vmap(lambda v: Product.apply(v, q))(x))(x),
        "Jacobian": lambda: func.jacrev(by_w)(w),
        "backward": lambda: torch.autograd.grad(func.vmap(by_w)(leaf).sum(), leaf),
    }
    return {name: program() for name, program in programs.items()}
