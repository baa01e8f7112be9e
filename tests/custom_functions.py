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


def leaf(torch: Any, *values: float) -> Any:
    """A leaf vector that requires grad."""
    return torch.tensor(list(values), requires_grad=True)
