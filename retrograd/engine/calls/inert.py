"""Refuses operands that require grad where PyTorch has no derivative for them."""

from __future__ import annotations

from typing import Any

from ..aliasing.views import requires_grad
from ..switches.state import STATE


def refuse_gradients(function: str, **operands: Any) -> None:
    """``RuntimeError`` for operands (or ``None``) that require grad, in grad mode; ``function`` is ATen's name."""
    for name, t in operands.items():
        if t is not None and t._fn is not None and STATE.grad_enabled and requires_grad(t):
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                f"have requires_grad True: pass {name}.detach() if it is a constant."
            )
