"""Arithmetic with a number that the engine itself brings in, as PyTorch's composites do: nodes of one operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...table.registry import F


def _by_number(row: str, general: str) -> Callable[[Any, Any], Any]:
    def compute(x: Any, number: Any) -> Any:
        floating = x._sig.floats is not None and number.__class__ in (int, float)
        return getattr(F, row if floating else general)(x, number)

    return compute


plus = _by_number("_add_number", "add")
minus = _by_number("_sub_number", "sub")
times = _by_number("_mul_number", "mul")
over = _by_number("_div_number", "div")
