"""Whether the nodes of a graph keep for backward what those of an equal graph kept: then its bytes are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress, count, repeat
from operator import attrgetter, call, is_not
from typing import Any

import numpy as np

from .....engine.tensors.parameter import Parameter
from .....engine.tensors.tensor import Tensor
from ...base import Node
from ..calls.saved import readers
from .facts import NO_ARRAYS, memory_of
from .outlines import first_places

_TENSORS = (Tensor, Parameter)
_ARRAYS = (np.ndarray, np.generic)
_nbytes, _array_of, _base_of = attrgetter("nbytes"), attrgetter("_array"), attrgetter("base")


class KeptArrays:
    """What nodes keep: the classes of the values, and of the arrays among them the sizes and which share memory.

    All is read and compared column by column; adding up the bytes of each node takes four times as long.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._readers = [readers[node.__class__] for node in nodes if hasattr(node, "edge_0")]
        values = self._values(nodes) if len(self._readers) == len(nodes) else [None, ...]
        self._classes = list(map(type, values))
        self._tensors = [place for place, sort in enumerate(self._classes) if sort in _TENSORS]
        self._arrays = [place for place, sort in enumerate(self._classes) if issubclass(sort, _ARRAYS)]
        others = {*self._classes}.difference(_TENSORS, NO_ARRAYS)
        self._known = all(issubclass(sort, _ARRAYS) for sort in others)
        """Whether all values are of classes whose arrays are known."""
        self._pattern = self._pattern_of(values)

    def _values(self, nodes: Sequence[Node]) -> list[Any]:
        return list(chain.from_iterable(map(call, self._readers, nodes)))

    def _pattern_of(self, values: list[Any]) -> tuple[list[int], ...]:
        """Bytes of each array, and the first place of each array and of each memory."""
        value_at = values.__getitem__
        arrays = [*map(_array_of, map(value_at, self._tensors)), *map(value_at, self._arrays)]
        ids = list(map(id, arrays))
        by_array = by_memory = first_places(ids)
        borrowing = list(compress(count(), map(is_not, map(_base_of, arrays), repeat(None))))
        if borrowing:
            for place in borrowing:
                ids[place] = id(memory_of(arrays[place]))
            by_memory = first_places(ids)
        return list(map(_nbytes, arrays)), by_array, by_memory

    def are_those_of(self, nodes: Sequence[Node]) -> bool:
        """Whether nodes of the same classes keep the same."""
        if not self._known:
            return False
        values = self._values(nodes)
        return list(map(type, values)) == self._classes and self._pattern_of(values) == self._pattern
