"""Custom Functions with known faults, for the tests of gradcheck; each maker takes the engine, returns a callable."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def module(torch: Any) -> Any:
    """The engine's module ``autograd.gradcheck``, which the function of that name hides."""
    return importlib.import_module(f"{torch.__name__}.autograd.gradcheck")


def custom(
    torch: Any, forward: Callable[..., Any], backward: Callable[..., Any], jvp: Any = None
) -> Callable[..., Any]:
    """A Function of one saved input with the given rules: ``backward(g, x)`` and ``jvp(t, x)``."""

    class Custom(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, *ctx.saved_tensors)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return jvp(t, *ctx.saved_tensors)

    return Custom.apply


def square(torch: Any) -> Callable[..., Any]:
    """x^2 with right rules in both modes."""
    return custom(torch, lambda x: x**2, lambda g, x: 2 * x * g, lambda t, x: 2 * x * t)


def wrong_factor(torch: Any) -> Callable[..., Any]:
    """x^2 whose gradient has the factor 3."""
    return custom(torch, lambda x: x**2, lambda g, x: 3 * x * g)


def wrong_tangent(torch: Any) -> Callable[..., Any]:
    """x^2 whose tangent alone has the factor 3."""
    return custom(torch, lambda x: x**2, lambda g, x: 2 * x * g, lambda t, x: 3 * x * t)


def constant_gradient(torch: Any) -> Callable[..., Any]:
    """2x whose backward forgets the incoming gradient."""
    return custom(torch, lambda x: x * 2, lambda g, x: torch.full_like(x, 2.0))


def drifting(torch: Any, step: float = 1e-7) -> Callable[..., Any]:
    """x^2 whose gradient changes by a step with each backward pass."""
    calls: list[int] = []

    def backward(g: Any, x: Any) -> Any:
        calls.append(1)
        return 2 * x * g + step * len(calls) * g

    return custom(torch, lambda x: x**2, backward)


def raising(torch: Any, error: type[Exception]) -> Callable[..., Any]:
    """2x whose backward raises if the incoming gradient is missing; gradients are not filled in."""

    class Raising(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if g is None:
                raise error("no gradient")
            return g * 2

    return Raising.apply


def one_for_none(torch: Any) -> Callable[..., Any]:
    """2x whose backward answers a missing gradient with ones."""

    class OneForNone(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.ones_like(ctx.saved_tensors[0]) if g is None else g * 2

    return OneForNone.apply


def pair(torch: Any, *, fill: bool) -> Callable[..., Any]:
    """2x and 3x; without ``fill`` its backward fails when only one of the gradients arrives."""

    class Pair(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(fill)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            if a is None and b is None:
                return None
            if a is None or b is None:
                raise RuntimeError("one gradient is missing")
            return a * 2 + b * 3

    return Pair.apply


def ones_for_zero_and_none(torch: Any) -> Callable[..., Any]:
    """2x and 3x whose backward is right but for one missing gradient beside zeros."""

    class OnesForZeroAndNone(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            if a is None and b is None:
                return None
            if a is None:
                return b * 3
            if b is None:
                return a * 2 if (a != 0).any() else torch.ones_like(a)
            return a * 2 + b * 3

    return OnesForZeroAndNone.apply


def once(torch: Any) -> Callable[..., Any]:
    """x^2 that may be differentiated only once."""
    decorator = torch.autograd.function.once_differentiable

    class Once(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @decorator  # type: ignore[untyped-decorator]
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    return Once.apply


def saved_intermediate(torch: Any) -> Callable[..., Any]:
    """exp whose backward uses a value computed in forward, which has no history there."""

    class SavedIntermediate(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.middle = x.exp().detach()
            return x.exp()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.middle

    return SavedIntermediate.apply
