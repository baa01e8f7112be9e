"""Tolerances of ranks, which may be tensors: one for each matrix of a batch."""

from __future__ import annotations

from typing import Any

from ....tensors.base import TensorBase


def tolerance_of(value: Any) -> Any:
    """The number, array or ``None`` that a row takes."""
    return value._array if isinstance(value, TensorBase) else value
