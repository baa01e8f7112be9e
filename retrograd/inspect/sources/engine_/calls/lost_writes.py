"""Detects indexed writes that hit an element more than once: only the last value stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...array_values import repeated, scattered_twice


def lost_writes(op: Any, args: Any) -> int:
    """Return how many values a call loses by writing to one element twice; 0 if they accumulate."""
    count = _COUNTS.get(op.name)
    return 0 if count is None else count(*args)


def writes_by_index(op: Any) -> bool:
    """Whether an operator may lose values by indexed writes."""
    return op.name in _COUNTS


def _put(target: Any, indices: Any, values: Any, accumulate: bool = False) -> int:
    return 0 if accumulate else repeated(indices, target._array.shape)


def _copied(target: Any, dim: int, index: Any, source: Any) -> int:
    return repeated([index], target._array.shape[dim:] or (1,))


def _scattered(target: Any, dim: int, index: Any, *source: Any) -> int:
    return scattered_twice(index, dim)


_COUNTS: dict[str, Callable[..., int]] = {"_index_put": _put, "index_copy": _copied, "_scatter": _scattered}
"""Operators that write by index, in place or into a copy, by name."""
