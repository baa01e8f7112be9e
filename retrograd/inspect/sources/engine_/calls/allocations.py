"""Follows which memory of the engine's tensors was only allocated so far, write by write."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine.tensors.base import TensorBase
from ....operators import Trait, operator
from ....tensor_table import TensorTable
from ...unwritten import Span, Unwritten
from ..backward.facts import memory_of
from ..watching import version


class Allocations:
    """What one recording knows of memory without values."""

    def __init__(self, table: TensorTable) -> None:
        self._table = table
        self._unwritten = Unwritten()

    def __bool__(self) -> bool:
        """Whether there is any such memory."""
        return bool(self._unwritten)

    def allocated(self, t: TensorBase) -> None:
        """A tensor was made in memory that nobody has written; it is numbered by now."""
        memory = memory_of(t._array)
        number = self._table.memory(memory)
        if number is not None:
            self._unwritten.allocated(number, memory, _span(t._array, memory), version(t))

    def hides(self, t: TensorBase) -> bool:
        """Whether values of a tensor must not be read."""
        if not self._unwritten:
            return False
        memory = memory_of(t._array)
        number = self._table.memory(memory)
        if number is None or number not in self._unwritten:
            return False
        return self._unwritten.hides(number, _span(t._array, memory), version(t))

    def wrote(self, op: Any, args: Any) -> None:
        """An operator wrote into its first argument."""
        if self._unwritten:
            index = () if not operator(op.name).is_a(Trait.INDEXING) else _index(args)
            self._wrote(args[0], version(args[0]), index)

    def writes(self, out: TensorBase) -> None:
        """A result is about to be written into a tensor."""
        if self._unwritten:
            self._wrote(out, version(out) + 1, ())

    def _wrote(self, t: TensorBase, now: int, index: Any) -> None:
        memory = memory_of(t._array)
        number = self._table.memory(memory)
        if number is None or number not in self._unwritten:
            return
        try:
            self._unwritten.wrote(number, _span(t._array, memory), now, index)
        except (IndexError, TypeError):  # an index that NumPy does not know
            self._unwritten.wrote(number, _span(t._array, memory), now, None)


def _span(array: Any, memory: Any) -> Span:
    """Return where an array lies in memory."""
    size = array.itemsize
    begin = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    strides = tuple(stride // size for stride in array.strides)
    return Span(memory.nbytes // size, size, begin // size, array.shape, strides)


def _index(args: Any) -> Any:
    """Return where a write by index wrote, as NumPy has it; None where that cannot be told."""
    given = args[1] if len(args) > 1 else None
    if not isinstance(given, (list, tuple)):
        return None
    parts = [slice(None) if one is None else np.asarray(getattr(one, "_array", one)) for one in given]
    return tuple(parts)
