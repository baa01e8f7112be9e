"""The figures of the gradients of one run: copied where they arrive, and worked out many in a row.

Between two kernels of PyTorch nothing of ours is in the processor's caches, and whatever runs there costs several
times what it does in a loop.  So gradients are only copied there, into memory that is gone with the run, and nothing
of the program is held.  Those of one length lie below each other, so that a figure of many takes one call of NumPy.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
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
_BLOCKS = 16
"""Blocks that wait at most."""
_PART = 4096
"""Entries that are multiplied and added up at once."""
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


class Stack:
    """Copies of gradients of one dtype and length, below each other; when there is no room left there, elsewhere."""

    __slots__ = ("address", "bytes", "dtype", "end", "numbers", "size")

    def __init__(self, dtype: np.dtype[Any], size: int) -> None:
        self.dtype, self.size, self.bytes = dtype, size, size * dtype.itemsize
        self.address = self.end = 0
        """Where the next one goes, and where the room ends."""
        self.numbers: list[int] = []
        """Of those that lie there."""


class GradientFigures:
    """Takes gradients down, by numbers counted from 0."""

    def __init__(self, readable: Readable, memory: Memory) -> None:
        self._readable = readable
        self._memory = memory
        self._room: Array | None = None
        self.next_number: Callable[[], int] = itertools.count().__next__
        self._stacks: dict[tuple[Any, int], Stack] = {}
        """By dtype and length."""
        self._blocks: list[tuple[list[int], Array]] = []
        """Numbers of those that wait, and where they lie."""
        self._done: list[tuple[list[int], Array]] = []
        """Numbers and figures of those that were worked out."""

    def stack(self, dtype: Any, size: int) -> Stack | None:
        """Return where gradients of a dtype and length are copied to, None if they are not."""
        if not 0 < size <= PIECE:
            return None
        found = self._stacks.get((dtype, size))
        if found is None and dtype in self._readable.wide:
            found = self._stacks[dtype, size] = Stack(self._readable.wide[dtype], size)
        return found

    def add(self, gradient: Any) -> int | None:
        """Take a gradient down and return its number, None if it has no entries that can be read."""
        readable = self._readable
        pointer = readable.pointer(gradient) if gradient.dtype in readable.wide else 0
        stack = self.stack(gradient.dtype, readable.size_in_one_piece(gradient)) if pointer else None
        if stack is None:
            return self._work_out(gradient)
        if stack.address == stack.end:
            self.make_room(stack)
        ctypes.memmove(stack.address, pointer, stack.bytes)
        stack.address += stack.bytes
        number = self.next_number()
        stack.numbers.append(number)
        return number

    def make_room(self, stack: Stack) -> None:
        """Give a stack that is full a new block; if there is none, work out all that waits."""
        if self._room is None:
            self._room = self._memory.take()
        if len(self._blocks) == _BLOCKS:
            self._work_out_all()
        room = self._room[len(self._blocks)]
        most = min(_ROWS, room.nbytes // stack.bytes)
        stack.address = room.ctypes.data
        stack.end = stack.address + most * stack.bytes
        stack.numbers = []
        rows = room[: most * stack.bytes].view(stack.dtype).reshape(most, stack.size)
        self._blocks.append((stack.numbers, rows))

    def _work_out_all(self) -> None:
        """Work out what waits."""
        with np.errstate(all="ignore"):  # those that overflow are worked out again
            self._done += [(numbers, _figures(rows[: len(numbers)])) for numbers, rows in self._blocks if numbers]
        self._blocks.clear()
        for stack in self._stacks.values():
            stack.address = stack.end = 0

    def _work_out(self, gradient: Any) -> int | None:
        """Take down a gradient that is large, narrow, or not in one piece."""
        found = self._readable.array(gradient)
        if found is None or not found.size:
            return None
        flat = found.ravel(order="K")
        wide = gradient.dtype in self._readable.wide
        with np.errstate(all="ignore"):
            row = _in_pieces(flat) if wide else _slowly(flat, str(gradient.dtype).rpartition(".")[2])
        number = self.next_number()
        self._done.append(([number], np.array([row])))
        return number

    def table(self) -> Array:
        """Work out what waits and return everything, a row of ``FIGURES`` entries for each gradient."""
        self._work_out_all()
        if self._room is not None:
            self._memory.give_back(self._room)
            self._room = None
        found = np.empty((self.next_number(), FIGURES))
        for numbers, rows in self._done:
            found[numbers] = rows
        return found


def _figures(rows: Array) -> Array:
    """Return the figures of each row of an array; most are plain arrays of ordinary numbers.

    Extremes come from ``argmin`` and sums from products, which are several times as fast as NumPy's reductions.
    """
    count, size = rows.shape
    found = np.zeros((count, FIGURES))
    each = np.arange(count)
    low = found[:, 1] = rows[each, rows.argmin(1)]
    high = found[:, 2] = rows[each, rows.argmax(1)]
    found[:, 0], found[:, 3], found[:, 7] = _products(rows, rows), _products(rows, _ones(size, rows.dtype)), size
    zero = np.equal(rows, 0)
    has_zero = zero[each, zero.argmax(1)]
    if has_zero.any():
        for row in np.flatnonzero(has_zero).tolist():
            found[row, 4] = np.count_nonzero(zero[row])
    largest = np.maximum(high, -low)
    usual = (largest > _SMALL) & (largest < _SAFE)  # False for NaN, too
    if not usual.all():
        for row in np.flatnonzero(~usual).tolist():
            if largest[row] != 0:
                found[row] = _slowly(rows[row], rows.dtype.name)
    return found


def _products(rows: Array, others: Array) -> Array:
    """Return the sum of products of each row; long ones in parts, which BLAS takes on one thread."""
    size = rows.shape[1]
    if size <= _PART or size % _PART:
        found: Array = np.vecdot(rows, others)
        return found
    parts = np.vecdot(rows.reshape(-1, size // _PART, _PART), others.reshape(-1, size // _PART, _PART))
    return np.asarray(parts.sum(1))


@functools.lru_cache(maxsize=64)
def _ones(size: int, dtype: np.dtype[Any]) -> Array:
    """Return an array of ones."""
    return np.ones(size, dtype)


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
