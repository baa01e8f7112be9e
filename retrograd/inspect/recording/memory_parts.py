"""``Part``: the elements of its memory that a tensor occupies, and who else may write to them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from ..bounded import BoundedDict
from ..references import Reference

# `Part`: the elements of its memory that a tensor occupies, and whether two tensors share any.

_MOST_ENTRIES = 1_000_000
"""Largest parts that are compared entry by entry; larger ones are assumed to overlap if they may."""
Index = int | slice | EllipsisType | None


class Part(NamedTuple):
    """The entries of a strided tensor."""

    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return prod(self.sizes)

    @property
    def last(self) -> int:
        """The last position in memory; strides are not negative."""
        return self.offset + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True))

    def at(self, index: Any) -> Part | None:
        """Return the part selected by an index of numbers and slices, None if it depends on a tensor's values."""
        given = list(index) if isinstance(index, tuple) else [index]
        if not all(entry is None or entry is ... or type(entry) in (int, slice) for entry in given):
            return None
        named = sum(entry is not None and entry is not ... for entry in given)
        if named > len(self.sizes) or given.count(...) > 1:
            return None
        place = given.index(...) if ... in given else len(given)
        whole = [slice(None)] * (len(self.sizes) - named)
        wanted = [entry for entry in [*given[:place], *whole, *given[place + 1 :]] if entry is not None]
        offset, sizes, strides = self.offset, [], []
        for entry, size, stride in zip(wanted, self.sizes, self.strides, strict=True):
            if isinstance(entry, int):
                offset += (entry + size if entry < 0 else entry) * stride
                continue
            begin, end, step = entry.indices(size)
            offset += begin * stride
            sizes.append(len(range(begin, end, step)))
            strides.append(step * stride)
        return Part(offset, tuple(sizes), tuple(strides))

    def places(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the position in memory of each entry."""
        found = np.full(1, self.offset, dtype=np.int64)
        for size, stride in zip(self.sizes, self.strides, strict=True):
            found = (found[:, None] + stride * np.arange(size)).ravel()
        return found


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    strides, below = [], 1
    for size in reversed(sizes):
        strides.append(below)
        below *= size
    return tuple(reversed(strides))


@functools.lru_cache(maxsize=10_000)
def shares_entries(one: Part, other: Part) -> bool:
    """Whether two parts of one memory have an entry in common."""
    if not one.entries or not other.entries or one.last < other.offset or other.last < one.offset:
        return False
    if max(one.entries, other.entries) > _MOST_ENTRIES:
        steps = {stride for stride in (*one.strides, *other.strides) if stride > 1}
        return not any(_apart(one, other, step) for step in steps)
    return bool(np.isin(one.places(), other.places()).any())


def _apart(one: Part, other: Part, step: int) -> bool:
    """Whether positions of the parts have different remainders by ``step``, as different columns do."""
    found: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for part in (one, other):
        kept = [(size, stride) for size, stride in zip(part.sizes, part.strides, strict=True) if stride % step]
        within = Part(part.offset, tuple(size for size, _ in kept), tuple(stride for _, stride in kept))
        if within.entries > _MOST_ENTRIES:
            return False
        found.append(within.places() % step)
    return not np.isin(found[0], found[1]).any()


# Tensors whose memory something other than their engine may write to.


class Lent(NamedTuple):
    """Memory that was exported, from the first entry of a tensor on."""

    owner: Reference
    """The object that owns it, which lives as long as the memory."""
    tensor: int
    storage: int
    way: str
    """How: ``numpy`` or ``dlpack``."""
    offset: int
    """Byte offset in the memory."""


class LentMemory:
    """Exported memory that one recording knows of."""

    def __init__(self) -> None:
        self.storages: set[int] = set()
        """Numbers of memories that something outside the engine can access."""
        self.ways: dict[int, str] = {}
        """Number of a tensor that shares memory without sharing its version counter -> the call that made it."""
        self._handed: BoundedDict[int, Lent] = BoundedDict(1_000)
        """Exported memory by address."""

    def hand_out(self, address: int, lent: Lent) -> None:
        """Note exported memory."""
        self.storages.add(lent.storage)
        self._handed[address] = lent

    def at(self, address: int) -> Lent | None:
        """Return the export at an address, if it is still the same memory."""
        found = self._handed.get(address)
        return None if found is None or found.owner() is None else found
