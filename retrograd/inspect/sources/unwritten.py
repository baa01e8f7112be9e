"""Uninitialised memory: its values are meaningless, so they are not read."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..references import Reference
from .array_values import Array

_MOST = 1 << 26
"""Entries of the largest memory whose entries are tracked one by one; for a larger one only writes of all count."""


class Span(NamedTuple):
    """Where the entries of a tensor are in its memory, in entries of ``itemsize`` bytes."""

    memory: int
    """How many entries the memory has."""
    itemsize: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def empty(self) -> bool:
        """Whether the tensor has no entries."""
        return 0 in self.shape

    def covers(self) -> bool:
        """Whether a write of all entries writes the whole memory."""
        size, last = 1, self.offset + 1
        for length, stride in zip(self.shape, self.strides, strict=True):
            if length > 1 and not stride:
                return False
            size, last = size * length, last + (length - 1) * stride
        return size == last == self.memory

    def of(self, entries: Array) -> Array:
        """Return the part of a row of entries that belongs to the tensor."""
        steps = tuple(stride * entries.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(entries[self.offset :], self.shape, steps)


class _Memory:
    """One memory with unwritten entries."""

    def __init__(self, span: Span, owner: Reference, version: int) -> None:
        self.itemsize, self.size = span.itemsize, span.memory
        self.owner = owner
        self.version = version
        """The highest version seen: a higher one means an unobserved write."""
        self.written: Array | None = None
        """Which entries were written, once some were."""

    def fits(self, span: Span) -> bool:
        """Whether entries are counted the same way: after ``view(dtype)`` they are not."""
        return (span.itemsize, span.memory) == (self.itemsize, self.size)


class Unwritten(dict[int, _Memory]):
    """Tracks writes to allocated memory, by its number in a recording.

    A dictionary of memories with unwritten entries; it is mostly empty, which is checked at each call.
    """

    def allocated(self, memory: int, owner: Any, span: Span, version: int) -> None:
        """Note that memory was allocated, or grew."""
        gone = Reference(owner, partial(self._forget, memory))
        self[memory] = _Memory(span, gone, version)

    def hides(self, memory: int, span: Span, version: int) -> bool:
        """Whether a tensor has unwritten entries."""
        found = self._known(memory, version)
        if found is None or span.empty:
            return False
        if found.written is None or not found.fits(span):
            return True
        hidden = not span.of(found.written).all()
        if not hidden and span.covers():
            self._forget(memory)
        return hidden

    def wrote(self, memory: int, span: Span, version: int, index: Any = ()) -> None:
        """Note that a tensor was written, with an index only there; None for an unknown index."""
        found = self.get(memory)
        if found is None:
            return
        found.version = max(found.version, version)
        if index is None or span.empty:
            return
        if index == () and span.covers():
            self._forget(memory)
        elif found.fits(span) and found.size <= _MOST:
            if found.written is None:
                found.written = np.zeros(found.size, bool)
            span.of(found.written)[index] = True

    def _known(self, memory: int, version: int) -> _Memory | None:
        """Return the state of a memory, unless somebody wrote to it unseen."""
        found = self.get(memory)
        if found is not None and version > found.version:
            self._forget(memory)
            return None
        return found

    def _forget(self, memory: int, _gone: Any = None) -> None:
        """Drop a memory that is completely written, or was freed."""
        self.pop(memory, None)
