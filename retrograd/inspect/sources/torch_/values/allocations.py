"""Tracks, call by call, which memory of PyTorch's tensors has been allocated but not written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....operators import Trait
from ....program.signals import reraise_from_handler
from ....recording.tensor_table import TensorTable
from ...unwritten import Span, Unwritten
from ..calls.calls import Call, version_of
from ..library import LIBRARY
from .values import Readable


class Allocations:
    """Uninitialised memory that one recording knows of."""

    def __init__(self, table: TensorTable, readable: Readable) -> None:
        self._table, self._readable = table, readable
        self.unwritten = Unwritten()

    def follow(
        self, call: Call, numbers: Sequence[int], written: Sequence[int], outputs: Sequence[Any], results: Sequence[int]
    ) -> None:
        """Note what a call allocated or wrote; numbers of its inputs and results."""
        if call.rule.operator.is_a(Trait.ALLOCATING):
            for tensor, number in zip(outputs, results, strict=True):
                self._allocated(tensor, number, known=number in numbers)
        elif self.unwritten:
            for place in written:
                self._wrote(call, place, self._table.memory_of(numbers[place]))

    def received(self, numbers: Sequence[int], tensors: Sequence[Any]) -> None:
        """Note tensors that were written unobserved."""
        for number, tensor in zip(numbers, tensors, strict=True):
            memory = self._table.memory_of(number)
            if memory is not None and memory in self.unwritten:
                self.unwritten.wrote(memory, _span(tensor), version_of(tensor))

    def hides(self, number: int, tensor: Any) -> bool:
        """Whether values of a tensor must not be read."""
        if not self.unwritten:
            return False
        memory = self._table.memory_of(number)
        if memory is None or memory not in self.unwritten:
            return False
        return self.unwritten.hides(memory, _span(tensor), version_of(tensor))

    def _allocated(self, tensor: Any, number: int, *, known: bool) -> None:
        """Note memory that was allocated; an existing tensor may just have grown."""
        memory = self._table.memory_of(number)
        try:
            if known and tensor.numel() <= np.prod(self._table.entered(number).shape):
                return
            owner = tensor.untyped_storage()
        except Exception as failure:  # without memory
            reraise_from_handler(failure)
            return
        if memory is not None:
            self.unwritten.allocated(memory, owner, _span(tensor), version_of(tensor))

    def _wrote(self, call: Call, place: int, memory: int | None) -> None:
        """Note a write."""
        if memory is None or memory not in self.unwritten:
            return
        tensor, index = call.inputs[place], self._index(call, place)
        try:
            self.unwritten.wrote(memory, _span(tensor), version_of(tensor), index)
        except (IndexError, TypeError):  # an index that NumPy does not know
            self.unwritten.wrote(memory, _span(tensor), version_of(tensor), None)

    def _index(self, call: Call, place: int) -> Any:
        """Return the index at which a call wrote in a tensor: () for everywhere, None if unknown."""
        if place or not call.rule.operator.is_a(Trait.INDEXING):
            return ()
        if call.rule.op != "setitem":
            return None
        given, parts = call.args[1], list[Any]()
        for part in given if isinstance(given, tuple) else (given,):
            parts.append(self._readable.index(part) if isinstance(part, LIBRARY.torch.Tensor) else part)
            if parts[-1] is None and part is not None:
                return None
        return tuple(np.array(part) if isinstance(part, list) else part for part in parts)


def _span(tensor: Any) -> Span:
    """Return the range of memory of a tensor."""
    memory = tensor.untyped_storage().nbytes() // tensor.itemsize
    return Span(memory, tensor.itemsize, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
