"""The figures of the gradients of one run; small gradients are copied side by side and worked out many at a time.

One pass of NumPy over many gradients costs what a call for one of them does.  Nothing of the program is held: what
waits to be worked out is a copy, in memory that is gone with the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .array_values import Array, gradient_figures, tiny_share
from .torch_values import Readable

Figures = tuple[Any, ...]
"""Norm squared, minimum, maximum, sum, number of zeros, of NaN and of infinities, size, share of tiny entries."""

_ENTRIES = 1 << 18
"""Entries that wait at most, about a megabyte: few enough to be in the processor's cache when they are read again."""
_LARGE = 1 << 14
"""Gradients with more entries are worked out at once: a copy would cost as much as what it spares."""
_SAFE = 1e15
"""Entries below this in magnitude can be squared and added up in single precision."""
_SMALL = 1e-15

_MIN, _MAX, _SUM, _COUNT = np.minimum, np.maximum, np.add, np.count_nonzero


class GradientFigures:
    """Takes gradients down, by numbers counted from 0."""

    def __init__(self, readable: Readable) -> None:
        self._readable = readable
        self._rows: list[Figures] = []
        self._waiting: dict[str, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, gradient: Any) -> int | None:
        """Take a gradient down and return its number, None if it has no entries that can be read."""
        array = self._readable.array(gradient)
        if array is None or not array.size:
            return None
        flat = array if array.ndim == 1 else array.ravel(order="K")
        size, number = flat.size, len(self._rows)
        if size > _LARGE or gradient.element_size() == 2:
            self._rows.append(_figures(flat, gradient.element_size() == 2, str(gradient.dtype)[6:]))
            return number
        kind = array.dtype.char
        waiting = self._waiting.get(kind)
        if waiting is None:
            waiting = self._waiting[kind] = _Waiting(array.dtype)
        if waiting.filled + size > _ENTRIES:
            waiting.work_out(self._rows)
        waiting.add(flat, size, number)
        self._rows.append(_NONE)
        return number

    def table(self) -> Array:
        """Work out what waits and return everything, a row for each gradient."""
        for waiting in self._waiting.values():
            waiting.work_out(self._rows)
        self._waiting.clear()
        return np.array(self._rows, np.float64).reshape(len(self._rows), 9)


_NONE: Figures = (0.0,) * 9


class _Waiting:
    """Copies of gradients of one dtype, side by side."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._entries = np.empty(_ENTRIES, dtype)
        self._zero = np.empty(_ENTRIES, bool)
        self._numbers: list[int] = []
        self._begins: list[int] = []
        self.filled = 0

    def add(self, flat: Array, size: int, number: int) -> None:
        """Copy one gradient, for which there is room."""
        begin = self.filled
        self.filled = end = begin + size
        self._entries[begin:end] = flat
        self._begins.append(begin)
        self._numbers.append(number)

    def work_out(self, rows: list[Figures]) -> None:
        """Write the figures of what waits, and begin anew."""
        if not self._begins:
            return
        entries, begins = self._entries[: self.filled], self._begins
        pieces = [entries[begin:end] for begin, end in zip(begins, [*begins[1:], self.filled], strict=True)]
        with np.errstate(all="ignore"):
            low, high = _MIN.reduceat(entries, begins), _MAX.reduceat(entries, begins)
            total = _SUM.reduceat(entries, begins)
            norm = [piece.dot(piece) for piece in pieces]
            usual = (-_SAFE < low) & (high < _SAFE) & (np.maximum(-low, high) > _SMALL)  # false for NaN
        nothing = [0] * len(pieces)
        sizes = [piece.size for piece in pieces]
        table = (norm, low, high, total, self._zeros(entries), nothing, nothing, sizes, nothing)
        for number, row in zip(self._numbers, np.array(table, np.float64).T.tolist(), strict=True):
            rows[number] = row
        for place in np.flatnonzero(~usual).tolist():
            rows[self._numbers[place]] = _slowly(pieces[place], str(entries.dtype))
        self._numbers, self._begins, self.filled = [], [], 0

    def _zeros(self, entries: Array) -> list[int]:
        """Count zeros, one by one only if there are any."""
        flags = np.equal(entries, 0, out=self._zero[: self.filled])
        if not flags.any():
            return [0] * len(self._begins)
        ends = [*self._begins[1:], self.filled]
        return [int(_COUNT(flags[begin:end])) for begin, end in zip(self._begins, ends, strict=True)]


def _figures(flat: Array, narrow: bool, dtype: str) -> Figures:
    """Return the figures of one gradient; most are plain arrays of ordinary numbers."""
    low, high = _MIN.reduce(flat), _MAX.reduce(flat)
    if -_SAFE < low and high < _SAFE:  # false for NaN
        largest = high if high > -low else -low
        if largest > _SMALL:
            tiny = tiny_share(flat, largest, "float16") if narrow else 0.0
            return flat.dot(flat), low, high, _SUM.reduce(flat), flat.size - _COUNT(flat), 0, 0, flat.size, tiny
    return _slowly(flat, dtype)


def _slowly(array: Array, dtype: str) -> Figures:
    """Return the figures of a gradient with entries that are not finite, very large or all very small."""
    found = gradient_figures(array)
    assert found is not None, "a floating array with entries has figures"
    norm, low, high, mean, zeros, nan, inf = found
    size = array.size
    tiny = tiny_share(array, max(abs(low), abs(high)), dtype)
    return norm * norm, low, high, mean * size, round(zeros * size), nan, inf, size, tiny
