"""Custom Functions in one expression, for tests that need many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def function(torch: Any, forward: Callable[..., Any], backward: Callable[..., Any] | None = None, **more: Any) -> Any:
    """A Function named ``F``; callables in ``more`` (``jvp``, ``setup_context`` ...) become static methods."""
    members: dict[str, Any] = {"forward": staticmethod(forward)}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    for name, value in more.items():
        members[name] = staticmethod(value) if callable(value) else value
    return type("F", (torch.autograd.Function,), members)


def times(factor: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Forward and backward of a multiplication of one tensor."""
    return (lambda ctx, x: x * factor), (lambda ctx, g: g * factor)


def leaf(torch: Any, *values: float) -> Any:
    """A leaf vector that requires grad."""
    return torch.tensor(list(values), requires_grad=True)
