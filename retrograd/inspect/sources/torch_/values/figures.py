"""Statistics of the gradients of one backward pass: copied on arrival and computed in batches, or norms alone.

Between two kernels of PyTorch nothing of ours is in the processor's caches, so code there takes several times as long
as in a loop. Gradients are therefore only copied, each to a reserved place (``layout``), into memory that is freed with
the pass; nothing of the program is kept alive. In a pass for which only norms are needed (``figure_schedule``) there is
no copy: the squares are summed in place, which reads what the last kernel has just written and writes nothing.
"""

from __future__ import annotations

import ctypes
import functools
import math
import weakref
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from .....locks import reentrant_lock
from ...array_values import LEAST, MOST, Array, gradient_figures, sum_of_squares, tiny_share
from ...measure_columns import Worked
from ..problems import note_problem
from . import products
from .layout import Layout, Place
from .products import QUICK
from .readbacks import ALL, NORM, READBACKS, Promise
from .values import Readable

FIGURES = 9
"""Norm squared, minimum, maximum, sum, number of zeros, of NaN and of infinities, size, share of tiny entries."""
NOT_TAKEN = slice(1, 5)
"""Those that are NaN if only norms are computed."""

_PIECE = 1 << 14
"""Entries of a long gradient that are computed as one row."""
_AT_ONCE = 1 << 18
"""Bytes that are computed together, small enough for a cache."""
_PART = 4096
"""Entries that are multiplied and summed at once."""
_SAFE = 1e15
"""Entries below this in magnitude can be squared and summed in single precision."""
_SMALL = 1e-15


class Memory:
    """The buffer that gradients are copied to, one for all passes: fresh memory would cost more than a copy.

    Statistics of a pass's copies are computed when they are read, which for many passes never happens, or when the next
    pass needs the memory.
    """

    def __init__(self) -> None:
        self.lock = reentrant_lock()
        self._spare: Array | None = None
        self._wanted = False
        self._waiting: Callable[[], GradientFigures | None] = _nothing

    def take(self, size: int) -> Array:
        """Return so many bytes."""
        with self.lock:
            self.work_out()
            self._wanted = True
            room, self._spare = self._spare, None  # None also inside another run
            return room if room is not None and room.nbytes >= size else np.empty(size, np.uint8)

    def keep(self, figures: GradientFigures) -> None:
        """Defer statistics until they are read."""
        with self.lock:
            self.work_out()
            self._waiting = weakref.ref(figures)

    def work_out(self) -> None:
        """Compute deferred statistics, if they can still be read."""
        figures, self._waiting = self._waiting(), _nothing
        if figures is not None:
            figures.close()

    def give_back(self, room: Array) -> None:
        """Keep unused memory for the next pass, while watching."""
        if self._wanted:
            self._spare = room

    def forget(self) -> None:
        """Drop all memory: watching has ended."""
        self._spare, self._wanted = None, False


def _nothing() -> None:
    """Return None, as a dead reference does."""


class GradientFigures:
    """Notes gradients, each under a key for which its layout may have a place."""

    def __init__(self, readable: Readable, layout: Layout, memory: Memory, *, whole: bool) -> None:
        """``whole``: compute all statistics; otherwise norms alone, where they show that a gradient is ordinary."""
        self._readable, self._layout, self._memory, self._whole = readable, layout, memory, whole
        self._room = memory.take(layout.size) if whole else np.empty(0, np.uint8)
        self._waiting: list[dict[int, int]] = [{} for _ in layout.groups]
        """For each group of places the keys of the gradients there, by place."""
        self._norms: list[float] = []
        """In turn: key, sum of squares and length of gradients for which nothing else is computed."""
        self._keys: list[int] = []
        """Keys of computed gradients, in the order of ``_done``."""
        self._done: list[Array] = []
        self._not_finite: set[int] = set()
        """Keys of computed gradients that have a NaN or an infinity."""
        self._far: list[tuple[int, Promise]] = []
        """Keys of gradients on other devices, with their requested statistics."""
        self._promised: dict[int, Promise] = {}
        """The same, once they were read."""
        self._found: Worked | None = None
        self._rows: dict[int, int] | None = None
        """Key -> row of the results, filled on first use."""

    def taker(self) -> Callable[[int, Place | None, Any], None]:
        """Return the function that notes a gradient; most are plain, with the expected length."""
        return self._copier() if self._whole else self._multiplier()

    def _copier(self) -> Callable[[int, Place | None, Any], None]:
        """Return the function that copies a gradient to its place."""
        address_of, add, flush = self._readable.address_finder(), self._add, self._flush
        waiting, base, copy = self._waiting, self._room.ctypes.data, ctypes.memmove

        def take(key: int, place: Place | None, gradient: Any) -> None:
            try:
                address = 0 if place is None or gradient.is_neg() else address_of(gradient, place.size)
                if place is None or not address:
                    add(key, gradient)
                    return
                there = waiting[place.group]
                if place.slot in there:
                    flush(place.group)
                copy(base + place.offset, address, place.size)
                there[place.slot] = key
            except Exception as problem:  # a failure must not reach the program
                note_problem(problem)

        return take

    def _multiplier(self) -> Callable[[int, Place | None, Any], None]:
        """Return the function that sums the squares of a gradient; if the sum is not ordinary, all are computed."""
        address_of, add, note = self._readable.address_finder(), self._add, self._norms.extend

        def take(key: int, place: Place | None, gradient: Any) -> None:
            try:
                if place is not None and (address := address_of(gradient, place.size)):
                    length, product = place.length, place.product
                    if length <= QUICK:
                        squares = product(length, address, 1, address, 1)
                    else:
                        squares = products.sum_of_squares(product, address, length, place.dtype.itemsize)
                    if LEAST < squares < MOST:
                        note((key, squares, length))
                        return
                add(key, gradient)
            except Exception as problem:
                note_problem(problem)

        return take

    def _add(self, key: int, gradient: Any) -> None:
        """Note a gradient of any kind, unless it has no readable entries."""
        readable = self._readable
        if not gradient.is_cpu:
            self._ask(key, gradient)
            return
        found = readable.gradient(gradient)
        if found is None or not found.size:
            return
        flat, wide = found.ravel(order="K"), gradient.dtype in readable.wide
        squares = 0.0 if self._whole or not wide else sum_of_squares(flat, QUICK)
        if LEAST < squares < MOST:
            self._norms.extend((key, squares, flat.size))
        else:
            self._take_all(key, flat, flat.dtype.name if gradient.is_complex() else _name(gradient.dtype))

    def _ask(self, key: int, gradient: Any) -> None:
        """Request statistics of a gradient on another device, to be computed there."""
        promise = READBACKS.ask(gradient, ALL if self._whole else NORM) if self._readable.is_far(gradient) else None
        if promise is not None:
            self._far.append((key, promise))

    def _settle(self) -> None:
        """Add the requested statistics, read back now if they have not been."""
        far, self._far = self._far, []
        if far := [(key, promise) for key, promise in far if promise.all is not None]:
            self._promised.update(far)
            rows = np.array([_far_row(promise, whole=self._whole) for _, promise in far])
            self._note_worked_out([key for key, _ in far], rows)

    def promised(self, key: int) -> Promise | None:
        """Return the statistics of a gradient on another device."""
        return self._promised.get(key)

    def _take_all(self, key: int, flat: Array, dtype: str) -> None:
        """Compute all statistics of one gradient."""
        with np.errstate(all="ignore"):
            row = _in_pieces(flat) if flat.dtype.name == dtype else _slowly(flat, dtype)
        self._note_worked_out([key], np.array([row]))

    def _flush(self, number: int) -> None:
        """Compute the deferred statistics of a group."""
        waiting, group = self._waiting[number], self._layout.groups[number]
        if not waiting:
            return
        rows = self._room[group.begin : group.end].view(group.dtype).reshape(-1, group.length)
        taken = sorted(waiting)
        if len(taken) < len(rows):
            rows = rows[taken]
        with np.errstate(all="ignore"):  # those that overflow are worked out again
            found = _figures(rows)
        self._note_worked_out([waiting[slot] for slot in taken], found)
        waiting.clear()

    def _note_worked_out(self, keys: list[int], found: Array) -> None:
        self._keys += keys
        self._done.append(found)
        self._not_finite.update(keys[row] for row in np.flatnonzero(found[:, 5] + found[:, 6]).tolist())

    def end(self) -> None:
        """Note that the pass is over: copies are kept until read, or dropped when nobody can read them."""
        if self._whole:
            self._memory.keep(self)

    def close(self) -> Worked:
        """Compute the deferred statistics, and return everything."""
        with self._memory.lock:
            if self._found is None:
                self._found = self._close()
            return self._found

    def _close(self) -> Worked:
        self._settle()
        for number in range(len(self._waiting)):
            self._flush(number)
        if self._whole:
            self._memory.give_back(self._room)
        taken = np.array(self._norms).reshape(-1, 3)
        norms = np.zeros((len(taken), FIGURES))
        norms[:, 0], norms[:, NOT_TAKEN], norms[:, 7] = taken[:, 1], math.nan, taken[:, 2]
        keys = taken[:, 0].astype(int).tolist()
        found = Worked([*self._keys, *keys], np.concatenate([*self._done, norms]))
        self._room, self._norms, self._done, self._promised = self._room[:0].copy(), [], [], {}
        return found

    def of(self, key: int) -> list[float] | None:
        """Return the statistics of one gradient, None if it was not copied."""
        keys, table = self.close()
        if self._rows is None:
            self._rows = {key: row for row, key in enumerate(keys)}
        row = self._rows.get(key)
        return None if row is None else table[row].tolist()

    def not_finite(self, keys: Collection[int]) -> set[int]:
        """Return the gradients with non-finite entries; most deferred ones need not be computed for that."""
        self._settle()
        if self._whole and not all(map(self._waits_finite, keys)):
            self.close()
        return self._not_finite.intersection(keys)

    def _waits_finite(self, key: int) -> bool:
        """Whether a gradient that has only been copied so far is finite."""
        place = self._layout.places.get(key)
        if place is None or self._waiting[place.group].get(place.slot) != key:
            return True
        flat = self._room[place.offset : place.offset + place.size].view(place.dtype)
        return math.isfinite(sum_of_squares(flat, QUICK))

    def __reduce__(self) -> Any:  # a snapshot can be copied
        return Worked, tuple(self.close())


def _far_row(promise: Promise, *, whole: bool) -> list[float]:
    """Return the statistics of a gradient on another device, in the form of the table."""
    squares, size = promise["norm"] * promise["norm"], promise.size
    nan, inf = promise["nan"], promise["bad"] - promise["nan"]
    if not whole or not promise.finite:
        return [squares, math.nan, math.nan, math.nan, math.nan, nan, inf, size, 0.0]
    nonzero = size - promise["zeros"]
    tiny = promise["tiny"] / nonzero if nonzero else 0.0
    return [squares, promise["low"], promise["high"], promise["sum"], promise["zeros"], nan, inf, size, tiny]


def _figures(rows: Array) -> Array:
    """Return the statistics of each row of an array; most are plain arrays of ordinary numbers."""
    count, size = rows.shape
    found = np.zeros((FIGURES, count))
    step, ones = max(1, _AT_ONCE // rows[0].nbytes), _ones(size, rows.dtype)
    for begin in range(0, count, step):
        part, to = rows[begin : begin + step], slice(begin, begin + step)
        found[1, to], found[2, to] = np.minimum.reduce(part, 1), np.maximum.reduce(part, 1)
        found[0, to], found[3, to] = _products(part, part), _products(part, ones)
        zero = np.equal(part, 0)
        for row in np.flatnonzero(np.logical_or.reduce(zero, 1)).tolist():
            found[4, begin + row] = np.count_nonzero(zero[row])
    found[7] = size
    largest = np.maximum(found[2], -found[1])
    for row in np.flatnonzero(~((largest > _SMALL) & (largest < _SAFE))).tolist():  # also those with NaN
        if largest[row] != 0:
            found[:, row] = _slowly(rows[row], rows.dtype.name)
    return found.T


def _products(rows: Array, others: Array) -> Array:
    """Return the sum of products of each row; long ones in parts, for which BLAS uses one thread."""
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


def _name(dtype: Any) -> str:
    """Return the name of PyTorch's dtype."""
    return str(dtype).rpartition(".")[2]


def _in_pieces(flat: Array) -> Array | tuple[float, ...]:
    """Return the statistics of one long array, read piece by piece while each is in the cache."""
    whole = flat.size - flat.size % _PIECE
    pieces = [_figures(flat[:whole].reshape(-1, _PIECE))] if whole else []
    if whole < flat.size:
        pieces.append(_figures(flat[whole:].reshape(1, -1)))
    rows = np.concatenate(pieces)
    found = rows.sum(0)
    found[1], found[2], found[8] = rows[:, 1].min(), rows[:, 2].max(), 0
    usual = _SMALL < max(-found[1], found[2]) < _SAFE and not found[5] + found[6]
    return found if usual else _slowly(flat, flat.dtype.name)


def _slowly(array: Array, dtype: str) -> tuple[float, ...]:
    """Return the statistics of a gradient with non-finite, very large or only very small entries."""
    found = gradient_figures(array)
    assert found is not None, "a floating array with entries has figures"
    norm, low, high, mean, zeros, nan, inf = found
    size = array.size
    tiny = tiny_share(array, max(abs(low), abs(high)), dtype)
    return norm * norm, low, high, mean * size, round(zeros * size), nan, inf, size, tiny
