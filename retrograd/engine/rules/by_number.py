"""Arithmetic with a number that the engine introduces, as in PyTorch's composites: nodes with one operand.

Rules also use it on bare arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..core.registry import F


def _by_number(row: str, general: str, of_arrays: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(x: Any, number: Any) -> Any:
        sig = getattr(x, "_sig", None)
        if sig is None:
            return of_arrays(x, number)
        floating = sig.floats is not None and number.__class__ in (int, float)
        return getattr(F, row if floating else general)(x, number)

    return compute


plus = _by_number("_add_number", "add", operator.add)
minus = _by_number("_sub_number", "sub", operator.sub)
times = _by_number("_mul_number", "mul", operator.mul)
over = _by_number("_div_number", "div", operator.truediv)


def number_minus(number: Any, x: Any) -> Any:
    """``number - x``, where PyTorch writes the number into a tensor and subtracts from it."""
    return F.sub(number, x) if hasattr(x, "_sig") else number - x


def squared(x: Any) -> Any:
    """``x ** 2``, which in PyTorch's formulas is a power."""
    return F._pow_scalar(x, 2) if hasattr(x, "_sig") else x * x


def cubed(x: Any) -> Any:
    """``x ** 3`` in the same way."""
    return F._pow_scalar(x, 3) if hasattr(x, "_sig") else x * x * x
