"""One element of each row: its index, reading it, and an array that is zero elsewhere.

In a training step these run just after large matrix products, when nothing is in the processor's cache.  Then the
loss of 64 rows of 10 takes 40 µs, by indices of rows and columns and NumPy's reductions 96; its way back 14 and 38.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_MOST = 100_000
"""The most rows whose beginnings are kept."""
_beginnings: dict[tuple[int, ...], Any] = {}


def are_classes(numbers: Any, classes: int) -> bool:
    """Whether whole numbers, at least one, are all from 0 up to ``classes``."""
    # (where the extremes are takes half the time of reductions, and of one reduction of numbers read without a sign)
    return bool(numbers.item(numbers.argmax()) < classes and numbers.item(numbers.argmin()) >= 0)


def picked(rows: Any, classes: Any) -> Any:
    """``rows[i, classes[i]]`` for each ``i``; more dimensions, or none, of ``classes`` are all rows."""
    if rows.ndim == 2 and rows.flags.c_contiguous:
        known = _beginnings.get(rows.shape)
        return rows.take((_begin(rows.shape) if known is None else known) + classes)
    return rows[_index(classes)]


def placed(sizes: tuple[int, ...], dtype: Any, classes: Any, values: Any) -> Any:
    """Zeros but for ``values`` where ``picked`` reads."""
    out = np.zeros(sizes, dtype)
    if len(sizes) == 2:
        known = _beginnings.get(sizes)
        out.put((_begin(sizes) if known is None else known) + classes, values)
    else:
        out[_index(classes)] = values
    return out


def _begin(sizes: tuple[int, ...]) -> Any:
    """Where the rows of a matrix begin, as positions in one long row."""
    count, width = sizes
    known = np.arange(0, count * width, width) if width else np.zeros(count, np.int64)
    if count <= _MOST:
        if len(_beginnings) > 64:
            _beginnings.clear()
        _beginnings[sizes] = known
    return known


def _index(classes: Any) -> tuple[Any, ...]:
    if not classes.ndim:
        return (classes,)
    return (*np.ogrid[tuple(slice(n) for n in classes.shape)], classes)
