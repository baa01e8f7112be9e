"""What the walk asks about our nodes."""

from __future__ import annotations

from typing import Any

from ....engine.accumulate import AccumulateGrad
from ....engine.base import TensorBase
from ....engine.function.node import BackwardCFunction
from ....engine.opnode import OpNode
from ....engine.saved import SavedTensor
from ....engine.tensor import Tensor
from ....engine.views import CopySlices
from ..base import Node


class Facts:
    """The engine's side of ``collect``."""

    engine = "retrograd"
    plain_tensors: frozenset[type] = frozenset({Tensor})

    def kind(self, node_type: type) -> str:
        """Tell leaves, custom Functions and CopySlices from operators."""
        if issubclass(node_type, AccumulateGrad):
            return "leaf"
        if issubclass(node_type, BackwardCFunction):
            return "function"
        return "copy" if issubclass(node_type, CopySlices) else "op"

    def saved_bytes(self, order: list[Node]) -> list[int | None]:
        """Add up the arrays that each node holds; None where hooks packed one, whose size only they know."""
        return [_bytes_of(node) for node in order]


def _bytes_of(node: Node) -> int | None:
    """Return the bytes of the distinct arrays that a node keeps for backward."""
    arrays = saved_arrays(node)
    return None if arrays is None else sum(array.nbytes for array in arrays)


def saved_arrays(node: Node) -> list[Any] | None:
    """Return the distinct arrays that a node keeps for backward; None where hooks packed one."""
    if isinstance(node, CopySlices):
        node = node.fn
    kept = getattr(node, "saved" if isinstance(node, OpNode) else "_saved", None)
    found: dict[int, Any] = {}
    waiting = list(kept or ())
    for value in waiting:  # grows while it is read
        if isinstance(value, (list, tuple)):
            waiting.extend(value)
        elif isinstance(value, SavedTensor):
            if value.unpack_hook is not None:
                return None
            waiting.append(value.data)
        else:
            array = value._array if isinstance(value, TensorBase) else value
            if hasattr(array, "nbytes") and hasattr(array, "strides"):
                found[id(array)] = array
    return list(found.values())
