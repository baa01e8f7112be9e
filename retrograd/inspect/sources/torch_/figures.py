"""The figures of the gradients of one run: copied where they arrive, and worked out many in a row.

Between two kernels of PyTorch nothing of ours is in the processor's caches, and whatever runs there costs several
times what it does in a loop.  So gradients are only copied there, into memory that is gone with the run, and nothing
of the program is held.  Those of one length lie below each other, so that a figure of many takes one call of NumPy.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from ..array_values import Array, gradient_figures, tiny_share
from .values import Readable

FIGURES = 9
"""Norm squared, minimum, maximum, sum, number of zeros, of NaN and of infinities, size, share of tiny entries."""

PIECE = 1 << 14
"""Entries of the longest gradients that are copied: with more, that would cost as much as what it spares."""
_BLOCK = 1 << 16
"""Entries that wait at most in one block, few enough to be still in a cache when they are worked out."""
_ROWS = 256
"""Gradients that wait at most in one block."""
_BLOCKS = 64
"""Lengths for which there is a block."""
_SAFE = 1e15
"""Entries below this in magnitude can be squared and added up in single precision."""
_SMALL = 1e-15


class GradientFigures:
    """Takes gradients down, by numbers counted from 0."""

    def __init__(self, readable: Readable) -> None:
        self._readable = readable
        self._numbers = itertools.count()
        self._blocks: dict[tuple[Any, int], _Block] = {}
        """By dtype and length."""
        self._done: list[tuple[Array | list[int], Array]] = []
        """Numbers and figures of those that were worked out."""

    def add(self, gradient: Any) -> int | None:
        """Take a gradient down and return its number, None if it has no entries that can be read."""
        readable, dtype = self._readable, gradient.dtype
        if dtype in readable.wide:
            pointer = readable.pointer(gradient)
            size = readable.size_in_one_piece(gradient) if pointer else 0
            if 0 < size <= PIECE:
                block = self._blocks.get((dtype, size)) or self._begin(dtype, size)
                number = next(self._numbers)
                if block.copy(number, pointer):
                    self._done.append(block.work_out())
                return number
        return self._work_out(gradient)

    def _begin(self, dtype: Any, size: int) -> _Block:
        """Return the block for a length that was not met lately."""
        if len(self._blocks) >= _BLOCKS:
            self._done += [block.work_out() for block in self._blocks.values()]
            self._blocks.clear()
        block = self._blocks[dtype, size] = _Block(self._readable.wide[dtype], size)
        return block

    def _work_out(self, gradient: Any) -> int | None:
        """Take down a gradient that is large, narrow, or not in one piece."""
        found = self._readable.array(gradient)
        if found is None or not found.size:
            return None
        flat = found.ravel(order="K")
        wide = gradient.dtype in self._readable.wide
        row = _in_pieces(flat) if wide else _slowly(flat, str(gradient.dtype).rpartition(".")[2])
        number = next(self._numbers)
        self._done.append(([number], np.array([row])))
        return number

    def table(self) -> Array:
        """Work out what waits and return everything, a row of ``FIGURES`` entries for each gradient."""
        self._done += [block.work_out() for block in self._blocks.values()]
        found = np.empty((next(self._numbers), FIGURES))
        for numbers, rows in self._done:
            found[numbers] = rows
        return found


class _Block:
    """Copies of gradients of one dtype and length, below each other."""

    def __init__(self, dtype: np.dtype[Any], size: int) -> None:
        self._numbers: list[int] = []
        self._most = min(_ROWS, max(1, _BLOCK // size))
        self._rows = np.empty((self._most, size), dtype)
        self._address, self._bytes = self._rows.ctypes.data, size * dtype.itemsize

    def copy(self, number: int, pointer: int) -> bool:
        """Copy the entries of one gradient; True if the block is full now."""
        waiting = len(self._numbers)
        ctypes.memmove(self._address + waiting * self._bytes, pointer, self._bytes)
        self._numbers.append(number)
        return waiting + 1 == self._most

    def work_out(self) -> tuple[list[int], Array]:
        """Work out what waits: numbers and figures.  The block is empty then."""
        numbers, self._numbers = self._numbers, []
        return numbers, _figures(self._rows[: len(numbers)])


def _figures(rows: Array) -> Array:
    """Return the figures of each row of an array; most are plain arrays of ordinary numbers.

    Extremes come from ``argmin`` and sums from products, which are several times as fast as NumPy's reductions.
    """
    count, size = rows.shape
    found = np.zeros((count, FIGURES))
    each = np.arange(count)
    low, high = rows[each, rows.argmin(1)], rows[each, rows.argmax(1)]
    found[:, 1], found[:, 2], found[:, 7] = low, high, size
    with np.errstate(all="ignore"):  # those that overflow are worked out again
        found[:, 0] = np.vecdot(rows, rows)
        found[:, 3] = rows @ np.ones(size, rows.dtype)
        largest = np.maximum(high, -low)
        usual = (largest > _SMALL) & (largest < _SAFE)  # False for NaN, too
    zero = np.equal(rows, 0)
    for row in np.flatnonzero(zero.any(1)).tolist():
        found[row, 4] = np.count_nonzero(zero[row])
    for row in np.flatnonzero(~usual).tolist():
        if largest[row] != 0:
            found[row] = _slowly(rows[row], rows.dtype.name)
    return found


def _in_pieces(flat: Array) -> Array | tuple[float, ...]:
    """Return the figures of one long array, read piece by piece, each while it lies in the cache."""
    whole = flat.size - flat.size % PIECE
    starts = range(0, whole, _BLOCK)
    pieces = [_figures(flat[begin : min(whole, begin + _BLOCK)].reshape(-1, PIECE)) for begin in starts]
    if whole < flat.size:
        pieces.append(_figures(flat[whole:].reshape(1, -1)))
    rows = np.concatenate(pieces)
    found = rows.sum(0)
    found[1], found[2], found[8] = rows[:, 1].min(), rows[:, 2].max(), 0
    usual = _SMALL < max(-found[1], found[2]) < _SAFE and not found[5] + found[6]
    return found if usual else _slowly(flat, flat.dtype.name)


def _slowly(array: Array, dtype: str) -> tuple[float, ...]:
    """Return the figures of a gradient with entries that are not finite, very large or all very small."""
    found = gradient_figures(array)
    assert found is not None, "a floating array with entries has figures"
    norm, low, high, mean, zeros, nan, inf = found
    size = array.size
    tiny = tiny_share(array, max(abs(low), abs(high)), dtype)
    return norm * norm, low, high, mean * size, round(zeros * size), nan, inf, size, tiny
