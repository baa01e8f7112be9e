"""Reads from our nodes what the graph walk stores, and the arrays that statistics are computed from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import is_
from typing import Any

import numpy as np

from .....engine.calls.history import CopySlices
from .....engine.core.base import TensorBase
from .....engine.core.sig import Sig
from .....engine.core.size import Size
from .....engine.execution.accumulate import AccumulateGrad
from .....engine.function.node import BackwardCFunction
from .....engine.nodes.opnode import OpNode
from .....engine.nodes.saved import SavedTensor
from .....engine.tensors.parameter import Parameter
from .....engine.tensors.tensor import Tensor
from ...base import Node
from ...sparse_entries import summed
from ..calls.saved import reader_of, readers

# Returns the array from which statistics of a tensor are computed.


def array_of(t: Any) -> Any:
    """A tensor's entries: of a sparse one those that it has."""
    return summed(t._indices()._array, t._values()._array) if t.is_sparse else t._array


# Reads from our nodes what the graph walk stores in the snapshot.

NO_ARRAYS: frozenset[type] = frozenset({int, float, bool, str, type(None), Size, Sig})
"""Classes of saved values that contain no arrays."""


class Facts:
    """The engine's side of ``collect``."""

    engine = "retrograd"
    plain_tensors: frozenset[type] = frozenset({Tensor, Parameter})

    def __init__(self) -> None:
        self.saved_once: list[float | None] = []
        """Bytes that each node saves, memory of several nodes counted for the oldest."""

    def kind(self, node_type: type) -> str:
        """Distinguish leaves, custom Functions and CopySlices from operators."""
        if issubclass(node_type, AccumulateGrad):
            return "leaf"
        if issubclass(node_type, BackwardCFunction):
            return "function"
        return "copy" if issubclass(node_type, CopySlices) else "op"

    def saved_bytes(self, order: list[Node]) -> list[int | None]:
        """Add up the arrays that each node holds; None where hooks packed one, whose size only they know.

        Also fills ``saved_once``.
        """
        seen: set[int] = set()
        found: list[int | None] = [0] * len(order)
        once = self.saved_once = [0.0] * len(order)
        operators = [place for place, node in enumerate(order) if not node.accumulates]
        for place in sorted(operators, key=lambda place: order[place]._sequence_nr()):
            node = order[place]
            read = readers.get(node.__class__)
            arrays = saved_arrays(node) if read is None else _distinct(read(node) or ())
            if arrays is None:
                found[place] = once[place] = None
                continue
            held = new = 0
            for array in arrays:
                size = array.nbytes
                held += size
                memory = id(array if array.base is None else memory_of(array))
                if memory not in seen:
                    seen.add(memory)
                    new += size
            found[place], once[place] = held, new
        return found


def memory_of(array: Any) -> Any:
    """Return the array that owns an array's memory; behind a strided view, NumPy keeps a holder of both."""
    while (base := array.base) is not None:
        if base.__class__ is not np.ndarray:
            base = getattr(base, "base", None)
            if base.__class__ is not np.ndarray:
                break
        array = base
    return array


def layout_of(array: Any) -> tuple[int, ...] | None:
    """Return an array's offset in its memory, and its strides, in entries, ignoring their signs."""
    memory, size = memory_of(array), array.itemsize
    if not size or any(stride % size for stride in array.strides):
        return None
    begin = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    begin += sum((extent - 1) * min(stride, 0) for extent, stride in zip(array.shape, array.strides, strict=True))
    return (begin // size, *[abs(stride) // size for stride in array.strides]) if begin >= 0 else None


def saved_arrays(node: Node) -> list[Any] | None:
    """Return the distinct arrays that a node keeps for backward; None where hooks packed one."""
    read = readers.get(node.__class__)
    if read is None:
        if isinstance(node, CopySlices):
            node = node.fn
        if not isinstance(node, OpNode):
            return _distinct_of_any(getattr(node, "_saved", None) or ())
        read = reader_of(node.__class__)
    return _distinct(read(node) or ())


def _distinct(kept: Iterable[Any]) -> list[Any] | None:
    """The distinct arrays among what a node keeps; None where hooks packed one."""
    found: list[Any] = []
    for value in kept:  # mostly a few tensors and arrays
        sort = value.__class__
        if sort is Tensor or sort is Parameter:
            value = value._array
        elif sort is not np.ndarray:
            if sort in NO_ARRAYS:
                continue
            return _distinct_of_any(kept)
        if not found or (found[0] is not value and not any(map(is_, found, repeat(value)))):
            found.append(value)
    return found


def _distinct_of_any(kept: Iterable[Any]) -> list[Any] | None:
    """Return the same for values of any kind."""
    found: dict[int, Any] = {}
    waiting = list(kept)
    for value in waiting:  # grows while it is read
        sort = value.__class__
        if sort is Tensor or sort is Parameter:
            found[id(value._array)] = value._array
        elif sort is np.ndarray:
            found[id(value)] = value
        elif sort in NO_ARRAYS:
            continue
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)
        elif isinstance(value, SavedTensor):
            if value.unpack_hook is not None:
                return None
            waiting.append(value.data)
        elif isinstance(value, TensorBase):
            found[id(value._array)] = value._array
        elif hasattr(value, "nbytes") and hasattr(value, "strides"):
            found[id(value)] = value
    return list(found.values())
