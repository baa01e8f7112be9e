"""Parses sizes and dimensions as PyTorch's methods accept them: one by one, or as one list."""

from __future__ import annotations

from typing import Any


def ints_of(values: tuple[Any, ...]) -> tuple[int, ...]:
    """``(0, 1)`` or ``((0, 1),)`` as a tuple of ints."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = tuple(values[0])
    return tuple(map(int, values))
