"""Bounds a divisor away from zero."""

from __future__ import annotations

from typing import Any

from ....switches.state import STATE, set_grad_enabled_here


def at_least(values: Any, bound: float) -> Any:
    """A copy limited from below to ``bound``; the gradient passes as if it were not limited."""
    limited = values.clone()
    grad = STATE.grad_enabled
    set_grad_enabled_here(False)
    try:
        limited.clamp_(min=bound)
    finally:
        set_grad_enabled_here(grad)
    return limited
