"""``retain_grad``: which node stores a tensor's gradient, also after the tensor was written."""

from __future__ import annotations

import weakref
from typing import Any

from ..core.base import LAZY, TensorBase
from ..nodes.node import edge_parts


def move_retained(t: TensorBase, old: Any, new: Any) -> None:
    """``retain_grad`` follows the newest value of a tensor."""
    if old is not None and old is not LAZY:
        node, nr = edge_parts(old)
        if node._extra is not None and node._extra.retained is not None:
            node._extra.retained.pop(nr, None)
    if new is not None:
        retain_on(t, new)


def retain_on(t: TensorBase, edge: Any) -> None:
    """Ask the node at ``edge`` to store the gradient of ``t`` (held weakly) in ``t.grad``."""
    node, nr = edge_parts(edge)
    extra = node.need_extra()
    if extra.retained is None:
        extra.retained = {}
    extra.retained[nr] = weakref.ref(t)
