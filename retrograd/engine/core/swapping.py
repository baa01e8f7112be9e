"""``swap_tensors``: two tensor objects exchange all their content."""

from __future__ import annotations

import weakref
from typing import Any, Final, NoReturn

from .. import observe

_SLOTS: Final = ("__dict__", "_array", "_fn", "_meta", "_sig")


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange class, attributes, memory, gradient and history of two tensors; names in programs stay where they are.

    ``RuntimeError`` for one to which weak references exist, since they would refer to the other one. Graphs that were
    recorded before no longer reach the leaves that they were recorded with: running them back is refused.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for slot in _SLOTS:
        first, second = getattr(t1, slot), getattr(t2, slot)
        setattr(t1, slot, second)
        setattr(t2, slot, first)
    for t in (t1, t2):
        node = None if t._meta is None or t._meta.accumulator is None else t._meta.accumulator()
        if node is not None:
            node.variable = t
            node.register_prehook(_refuse)
        if observe.observers:
            observe.notify("swapped", t)


def _refuse(grads: Any) -> NoReturn:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: this graph was recorded before the "
        "tensor was swapped. Swap tensors (or convert modules) before the forward pass, or after backward."
    )
