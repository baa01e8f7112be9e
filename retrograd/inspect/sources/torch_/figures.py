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
_BLOCK_BYTES = 1 << 18
"""Memory of the gradients of one length that are worked out together, little enough to stay in a cache meanwhile."""
_ROWS = 256
"""How many those are at most."""
_BLOCKS = 64
"""Blocks that wait at most."""
_PART = 256
"""Sums that one long row is added up in."""
_SAFE = 1e15
"""Entries below this in magnitude can be squared and added up in single precision."""
_SMALL = 1e-15


class Memory:
    """Where gradients are copied to, kept for the next run: memory that was never touched costs more than a copy."""

    def __init__(self) -> None:
        self._spare: list[Array] = []

    def take(self) -> Array:
        """Return room for all blocks of one run."""
        try:
            return self._spare.pop()
        except IndexError:  # the first run, or one inside another
            return np.empty((_BLOCKS, _BLOCK_BYTES), np.uint8)

    def give_back(self, room: Array) -> None:
        """Keep room that is no longer used."""
        if not self._spare:
            self._spare.append(room)


class GradientFigures:
    """Takes gradients down, by numbers counted from 0."""

    def __init__(self, readable: Readable, memory: Memory) -> None:
        self._readable = readable
        self._memory = memory
        self._room: Array | None = None
        self._numbers = itertools.count()
        self._open: dict[tuple[Any, int], _Block] = {}
        """Blocks with room left, by dtype and length."""
        self._blocks: list[_Block] = []
        """All that wait."""
        self._done: list[tuple[list[int], Array]] = []
        """Numbers and figures of those that were worked out."""

    def add(self, gradient: Any) -> int | None:
        """Take a gradient down and return its number, None if it has no entries that can be read."""
        readable, dtype = self._readable, gradient.dtype
        if dtype in readable.wide:
            pointer = readable.pointer(gradient)
            size = 0
            if pointer:
                size = gradient.numel() if gradient.is_contiguous() else readable.size_in_one_piece(gradient)
            if 0 < size <= PIECE:
                number = next(self._numbers)
                block = self._open.get((dtype, size)) or self._begin(dtype, size)
                if block.copy(number, pointer):
                    del self._open[dtype, size]
                return number
        return self._work_out(gradient)

    def _begin(self, dtype: Any, size: int) -> _Block:
        """Begin a block; if there is no room, work out all that waits."""
        if self._room is None:
            self._room = self._memory.take()
        if len(self._blocks) == _BLOCKS:
            self._work_out_all()
        block = _Block(self._room[len(self._blocks)], self._readable.wide[dtype], size)
        self._blocks.append(block)
        self._open[dtype, size] = block
        return block

    def _work_out_all(self) -> None:
        """Work out what waits."""
        self._done += [block.work_out() for block in self._blocks]
        self._blocks.clear()
        self._open.clear()

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
        self._work_out_all()
        if self._room is not None:
            self._memory.give_back(self._room)
            self._room = None
        found = np.empty((next(self._numbers), FIGURES))
        for numbers, rows in self._done:
            found[numbers] = rows
        return found


class _Block:
    """Copies of gradients of one dtype and length, below each other."""

    def __init__(self, room: Array, dtype: np.dtype[Any], size: int) -> None:
        self._numbers: list[int] = []
        self._most = min(_ROWS, room.nbytes // (size * dtype.itemsize))
        self._rows = room[: self._most * size * dtype.itemsize].view(dtype).reshape(self._most, size)
        self._address, self._bytes = self._rows.ctypes.data, size * dtype.itemsize

    def copy(self, number: int, pointer: int) -> bool:
        """Copy the entries of one gradient; True if the block is full now."""
        waiting = len(self._numbers)
        ctypes.memmove(self._address + waiting * self._bytes, pointer, self._bytes)
        self._numbers.append(number)
        return waiting + 1 == self._most

    def work_out(self) -> tuple[list[int], Array]:
        """Work out what waits: numbers and figures."""
        return self._numbers, _figures(self._rows[: len(self._numbers)])


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
        found[:, 3] = _sums(rows)
        largest = np.maximum(high, -low)
        usual = (largest > _SMALL) & (largest < _SAFE)  # False for NaN, too
    zero = np.equal(rows, 0)
    for row in np.flatnonzero(_has_any(zero)).tolist():
        found[row, 4] = np.count_nonzero(zero[row])
    for row in np.flatnonzero(~usual).tolist():
        if largest[row] != 0:
            found[row] = _slowly(rows[row], rows.dtype.name)
    return found


def _sums(rows: Array) -> Array:
    """Return the sum of each row; of long ones parts are added to each other first, many entries at a time."""
    count, size = rows.shape
    if size % _PART == 0 and size > _PART:
        rows = np.add.reduce(rows.reshape(count, -1, _PART), 1)
    found: Array = np.add.reduce(rows, 1)
    return found


def _has_any(flags: Array) -> Array:
    """Whether any flag of each row is set, eight read at a time where that is possible."""
    if flags.shape[1] % 8 == 0:
        flags = flags.view(np.uint64)
    found: Array = np.bitwise_or.reduce(flags, 1)
    return found


def _in_pieces(flat: Array) -> Array | tuple[float, ...]:
    """Return the figures of one long array, read piece by piece, each while it lies in the cache."""
    whole = flat.size - flat.size % PIECE
    step = _BLOCK_BYTES // flat.itemsize // PIECE * PIECE
    starts = range(0, whole, step)
    pieces = [_figures(flat[begin : min(whole, begin + step)].reshape(-1, PIECE)) for begin in starts]
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
