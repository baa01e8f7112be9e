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
"""Bytes up to which a checksum is no slower than sums."""
_PIECE = 1 << 17
"""Bytes that are read twice while they lie in a processor's cache."""
_ROUNDING = 1e-3
"""Equal rows drift apart by rounding, which optimizers with moments make larger; others differ by far more."""


class Reader(Protocol):
    """How an engine's parameters are read."""

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter what differs if its values do; None where they cannot be read."""

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return for each what is in ``.grad``: ``"none"``, ``"zero"``, or None for other values and unknown ones."""

    def values(self, parameters: Sequence[Any]) -> list[Array | None]:
        """Return the values of each as an array, which is only read at once; None where they cannot be had."""

    def place(self, parameter: Any) -> Hashable:
        """Return a value that changes when a parameter is written or moved; None if there is none."""


class _Left(NamedTuple):
    """What a step left of one parameter."""

    place: Hashable
    content: Hashable


class StepEffects:
    """Knows what each optimizer's parameters held when its last step was over, so that each is read once a step."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._left: BoundedDict[int, list[_Left]] = BoundedDict(1_000)
        """By the number of the optimizer."""

    def found(self, parameters: Sequence[Any]) -> dict[str, list[int]]:
        """Return the parameters with notable gradients at a step, by the key that reports them.

        Parameters without a gradient, those whose gradient is zero, and those whose rows are all alike.
        """
        states = self._reader.gradients(parameters)
        found = {
            "without": [place for place, state in enumerate(states) if state == "none"],
            "zero": [place for place, state in enumerate(states) if state == "zero"],
        }
        alike = [place for place, one in enumerate(self._reader.values(parameters)) if one is not None and _alike(one)]
        return {**found, "alike": alike} if alike else found

    def begin(self, optimizer: int, parameters: Sequence[Any]) -> None:
        """A step begins: read what was written into since the last one."""
        known = self._left.get(optimizer, [])
        places = list(map(self._reader.place, parameters))
        if len(known) != len(places) or any(
            now is None or now != then.place for now, then in zip(places, known, strict=True)
        ):
            self._left[optimizer] = list(map(_Left, places, self._reader.contents(parameters)))

    def contents(self, optimizer: int) -> list[int | None]:
        """Return a number for what each parameter was seen to hold last; equal on ranks that hold the same."""
        left = [one.content for one in self._left.get(optimizer, ())]
        return [None if content is None else zlib.crc32(repr(content).encode()) for content in left]

    def end(self, optimizer: int, parameters: Sequence[Any]) -> list[int]:
        """The step is over: return the places of the parameters that hold what they held before."""
        before, contents = self._left.get(optimizer, []), self._reader.contents(parameters)
        self._left[optimizer] = list(map(_Left, map(self._reader.place, parameters), contents))
        if len(before) != len(contents):
            return []
        pairs = enumerate(zip(before, contents, strict=True))
        return [place for place, (then, now) in pairs if now is not None and now == then.content]


def content_of(memory: Array) -> Hashable:
    """Return a number, or several, for bytes: other bytes have others, but for a chance nobody meets."""
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
    """Return a number for bytes that takes half the time; what has the same words in another order has the same."""
    words = memory[: memory.size // 8 * 8].view(np.int64)
    return int(np.add.reduce(words)), zlib.crc32(memory[words.size * 8 :].data)


def _alike(array: Array) -> bool:
    """Whether an array has several rows of several entries, and all of them are equal, but for rounding."""
    if array.ndim < 2 or len(array) < 2 or array[0].size < 2:
        return False
    spread = _ROUNDING * float(np.abs(array[0]).max())
    return bool(np.abs(array[-1] - array[0]).max() <= spread and np.abs(array - array[:1]).max() <= spread)


def is_zero(array: Array) -> bool:
    """Whether an array has entries and all are zero; for most others the first row decides."""
    return bool(array.size) and not array[(0,) * (array.ndim - 1)].any() and not array.any()
