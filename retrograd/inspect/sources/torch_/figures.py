"""The figures of the gradients of one run: copied where they arrive, and worked out many in a row.

Between two kernels of PyTorch nothing of ours is in the processor's caches, and whatever runs there costs several
times what it does in a loop.  So gradients are only copied there, into memory that is gone with the run, and nothing
of the program is held.
"""

from __future__ import annotations

import ctypes
import itertools
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..array_values import Array, gradient_figures, tiny_share
from .values import Readable

FIGURES = 9
"""Norm squared, minimum, maximum, sum, number of zeros, of NaN and of infinities, size, share of tiny entries."""

_ENTRIES = 1 << 17
"""Entries that wait at most."""
PIECE = 1 << 14
"""Entries that are read at a time, few enough to stay in the cache from the first figure to the last; gradients
with more are not copied, for that would cost as much as what it spares."""
_SAFE = 1e15
"""Entries below this in magnitude can be squared and added up in single precision."""
_SMALL = 1e-15


class GradientFigures:
    """Takes gradients down, by numbers counted from 0."""

    def __init__(self, readable: Readable) -> None:
        self._readable = readable
        self._numbers = itertools.count()
        self._workers: dict[Any, _Worker] = {}
        self._now: list[tuple[int, Sequence[float]]] = []
        """Those that are not copied: number and figures."""

    def add(self, gradient: Any) -> int | None:
        """Take a gradient down and return its number, None if it has no entries that can be read."""
        worker = self._workers.get(gradient.dtype) or self._begin(gradient.dtype)
        pointer = 0 if worker is None else self._readable.pointer(gradient)
        if worker is not None and pointer:
            size = self._readable.size_in_one_piece(gradient)
            if 0 < size <= PIECE:
                return worker.copy(pointer, size)
        return self._work_out(gradient)

    def _begin(self, dtype: Any) -> _Worker | None:
        """Return who works on gradients of a dtype that was not met before; None if those are to be converted."""
        kind = self._readable.wide.get(dtype)
        if kind is None:
            return None
        worker = self._workers[dtype] = _Worker(kind, self._numbers)
        return worker

    def _work_out(self, gradient: Any) -> int | None:
        """Take down a gradient that is large, narrow, or not in one piece."""
        found = self._readable.array(gradient)
        if found is None or not found.size:
            return None
        flat, name = found.ravel(order="K"), str(gradient.dtype).rpartition(".")[2]
        worker = self._workers.get(gradient.dtype)
        row = _slowly(flat, name) if worker is None else worker.in_pieces(flat)
        number = next(self._numbers)
        self._now.append((number, row))
        return number

    def table(self) -> Array:
        """Work out what waits and return everything, a row of ``FIGURES`` entries for each gradient."""
        found = np.empty((next(self._numbers), FIGURES))
        for number, row in self._now:
            found[number] = row
        for worker in self._workers.values():
            worker.work_out()
            found[worker.numbers] = np.array(worker.rows).reshape(-1, FIGURES)
        return found


class _Worker:
    """Copies of gradients of one dtype, side by side, and the figures of those that were copied before."""

    def __init__(self, dtype: np.dtype[Any], numbers: Iterator[int]) -> None:
        self.numbers: list[int] = []
        self.rows = array("d")
        self._next = numbers
        self._entries = np.empty(_ENTRIES, dtype)
        self._address, self._size = self._entries.ctypes.data, dtype.itemsize
        self._ends: list[int] = [0]
        self._zero = np.empty(_ENTRIES, bool)
        self._ones = np.ones(PIECE, dtype)

    def copy(self, pointer: int, size: int) -> int:
        """Copy the entries of one gradient and return its number."""
        begin = self._ends[-1]
        if begin + size > _ENTRIES:
            self.work_out()
            begin = 0
        ctypes.memmove(self._address + begin * self._size, pointer, size * self._size)
        number = next(self._next)
        self.numbers.append(number)
        self._ends.append(begin + size)
        return number

    def work_out(self) -> None:
        """Work out what waits, and begin anew."""
        ends, self._ends, begin = self._ends, [0], 0
        entries, extend = self._entries, self.rows.extend
        zero = np.equal(entries[: ends[-1]], 0, out=self._zero[: ends[-1]])
        for end in ends[1:]:
            extend(self._figures(entries[begin:end], zero[begin:end]))
            begin = end

    def in_pieces(self, flat: Array) -> Sequence[float]:
        """Return the figures of one long array, read piece by piece."""
        parts = (flat[begin : begin + PIECE] for begin in range(0, flat.size, PIECE))
        pieces = [self._figures(part, np.equal(part, 0, out=self._zero[: part.size])) for part in parts]
        squares, low, high, total, *counts = np.array(pieces, np.float64).T
        found = (squares.sum(), low.min(), high.max(), total.sum(), *(int(count.sum()) for count in counts[:4]), 0)
        usual = _SMALL < max(-found[1], found[2]) < _SAFE and not found[5] + found[6]
        return found if usual else _slowly(flat, flat.dtype.name)

    def _figures(self, flat: Array, zero: Array) -> Sequence[float]:
        """Return the figures of a piece, given which entries are zero; most are plain arrays of ordinary numbers.

        Extremes come from ``argmin`` and sums from products, which are several times as fast as NumPy's reductions.
        """
        low, high, size = flat[flat.argmin()], flat[flat.argmax()], flat.size
        largest = high if high > -low else -low
        if not _SMALL < largest < _SAFE:  # so for NaN, too
            return _slowly(flat, flat.dtype.name) if largest else (0, 0, 0, 0, size, 0, 0, size, 0)
        return flat.dot(flat), low, high, flat.dot(self._ones[:size]), int(np.count_nonzero(zero)), 0, 0, size, 0


def _slowly(array: Array, dtype: str) -> Sequence[float]:
    """Return the figures of a gradient with entries that are not finite, very large or all very small."""
    found = gradient_figures(array)
    assert found is not None, "a floating array with entries has figures"
    norm, low, high, mean, zeros, nan, inf = found
    size = array.size
    tiny = tiny_share(array, max(abs(low), abs(high)), dtype)
    return norm * norm, low, high, mean * size, round(zeros * size), nan, inf, size, tiny
