"""``StepEffects``: which gradients an optimizer step finds, and which parameters it leaves unchanged.

Both are read off the memory itself, so it makes no difference how a program clears a gradient or writes an update.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..bounded import BoundedDict
from .array_values import Array

_SMALL = 1 << 14
"""Bytes up to which a checksum is as fast as sums."""
_PIECE = 1 << 17
"""Bytes of a piece that stays in a processor's cache while it is read twice."""
_ROUNDING = 1e-3
"""Equal rows drift apart by rounding, which optimizers with moments make larger; others differ by far more."""


class Reader(Protocol):
    """Reads an engine's parameters."""

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter a key that differs if its values do; None if they cannot be read."""

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return the state of each ``.grad``: ``"none"``, ``"zero"``, or None for other or unknown values."""

    def values(self, parameters: Sequence[Any]) -> list[Array | None]:
        """Return the values of each as an array, to be read at once; None if not available."""

    def place(self, parameter: Any) -> Hashable:
        """Return a value that changes when a parameter is written or moved; None if there is none."""


class _Left(NamedTuple):
    """State of the parameters after a step; not an object for each, which the garbage collector would look at."""

    places: list[Hashable]
    contents: list[Hashable]


class StepEffects:
    """Knows the parameters' values after each optimizer's last step, so that each is read once a step."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._left: BoundedDict[int, _Left] = BoundedDict(1_000)
        """By the number of the optimizer."""

    def found(self, parameters: Sequence[Any]) -> dict[str, list[int]]:
        """Return the parameters with notable gradients at a step, by the key that reports them.

        These are parameters without a gradient, with a gradient of zeros, and with all rows equal.
        """
        states = self._reader.gradients(parameters)
        found = {
            "without": [place for place, state in enumerate(states) if state == "none"],
            "zero": [place for place, state in enumerate(states) if state == "zero"],
        }
        alike = [
            place for place, one in enumerate(self._reader.values(parameters)) if one is not None and _equal_rows(one)
        ]
        return {**found, "alike": alike} if alike else found

    def begin(self, optimizer: int, parameters: Sequence[Any]) -> None:
        """Note that a step begins: read what was written since the last one."""
        known, places = self._left.get(optimizer), list(map(self._reader.place, parameters))
        if known is None or None in places or places != known.places:
            self._left[optimizer] = _Left(places, self._reader.contents(parameters))

    def contents(self, optimizer: int) -> list[int | None]:
        """Return a number for the last read values of each parameter; equal on ranks with equal values."""
        left = self._left.get(optimizer)
        contents = [] if left is None else left.contents
        return [None if content is None else zlib.crc32(repr(content).encode()) for content in contents]

    def end(self, optimizer: int, parameters: Sequence[Any]) -> list[int]:
        """Return the indices of the parameters that a step, now over, left unchanged."""
        before, contents = self._left.get(optimizer), self._reader.contents(parameters)
        self._left[optimizer] = _Left(list(map(self._reader.place, parameters)), contents)
        if before is None or len(before.contents) != len(contents):
            return []
        pairs = enumerate(zip(before.contents, contents, strict=True))
        return [place for place, (then, now) in pairs if now is not None and now == then]


def content_of(memory: Array) -> Hashable:
    """Return one or more numbers for bytes, which differ for other bytes with near certainty."""
    size = memory.size
    if size <= _SMALL:
        return zlib.crc32(memory.data)
    words = memory[: size // 8 * 8].view(np.int64)
    total = mixed = 0
    for start in range(0, words.size, _PIECE // 8):
        piece = words[start : start + _PIECE // 8]
        total += int(np.add.reduce(piece))
        mixed ^= int(np.bitwise_xor.reduce(piece))
    return total, mixed, zlib.crc32(memory[size // 8 * 8 :].data)


def sum_of(memory: Array) -> Hashable:
    """Return a number for bytes in half the time; it is the same for the same words in another order."""
    words = memory[: memory.size // 8 * 8].view(np.int64)
    return int(np.add.reduce(words)), zlib.crc32(memory[words.size * 8 :].data)


def _equal_rows(array: Array) -> bool:
    """Whether an array has several rows of several entries, all equal up to rounding."""
    if array.ndim < 2 or len(array) < 2 or array[0].size < 2:
        return False
    spread = _ROUNDING * float(np.abs(array[0]).max())
    return bool(np.abs(array[-1] - array[0]).max() <= spread and np.abs(array - array[:1]).max() <= spread)


def is_zero(array: Array) -> bool:
    """Whether an array has entries and all are zero; for most others the first row decides."""
    return bool(array.size) and not array[(0,) * (array.ndim - 1)].any() and not array.any()
