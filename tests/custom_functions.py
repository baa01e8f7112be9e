"""Custom Functions in one expression, for tests that need many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def custom(torch: Any, name: str = "F", base: Any = None, **members: Any) -> Any:
    """A subclass of ``torch.autograd.Function``; callables become static methods."""
    kept = {key: staticmethod(value) if callable(value) else value for key, value in members.items()}
    return type(name, (base or torch.autograd.Function,), {"__module__": __name__, **kept})


def function(torch: Any, forward: Callable[..., Any], backward: Callable[..., Any] | None = None, **more: Any) -> Any:
    """A Function named ``F`` with these rules, and ``jvp``, ``setup_context`` ... if they are given."""
    rules = {"forward": forward} if backward is None else {"forward": forward, "backward": backward}
    return custom(torch, **rules, **more)


def times(factor: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Forward and backward of a multiplication of one tensor."""
    return (lambda ctx, x: x * factor), (lambda ctx, g: g * factor)


def squaring(torch: Any, backward: Callable[..., Any] = lambda x, g: 2 * x * g) -> Any:
    """A Function named ``Square`` that saves its input, with which ``backward(x, g)`` is called."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return custom(torch, "Square", forward=forward, backward=lambda ctx, g: backward(*ctx.saved_tensors, g))


def giving_none(torch: Any) -> Any:
    """A Function of one tensor whose gradient is undefined."""
    return function(torch, times(1)[0], lambda ctx, g: None)


def nested(torch: Any, innermost: Callable[[], None]) -> Any:
    """A Function of a tensor and a level: its backward runs one of a level less; on level 0 ``innermost`` is called."""

    def forward(ctx: Any, x: Any, level: int) -> Any:
        ctx.level = level
        return x * 1

    def backward(ctx: Any, g: Any) -> Any:
        if ctx.level == 0:
            innermost()
            return g, None
        with torch.enable_grad():
            x = torch.ones(1, requires_grad=True)
            y = deep.apply(x, ctx.level - 1)
        y.backward()
        return g + x.grad, None

    deep = custom(torch, "Deep", forward=forward, backward=backward)
    return deep


def leaf(torch: Any, *values: float) -> Any:
    """A leaf vector that requires grad."""
    return torch.tensor(list(values), requires_grad=True)
