"""The node that receives a tensor's gradient: that of a result, the accumulator of a leaf, the node of a view.

A view keeps its root (``View.base``), the node valid at a certain version, and the steps that made it.  After a
write to the shared storage the node is made anew from the root (``AsStridedBackward0``, or the original steps in
view-replay mode).
"""

from __future__ import annotations

import weakref
from typing import Any

from ...locks import reentrant_lock
from .. import late
from ..core.base import LAZY, CreationTag, TensorBase, View, wrap
from ..core.bits import bits_of
from ..core.registry import OPS
from ..nodes.node import NODE_CLASSES, GraphNode, Port
from ..overriding.dispatch_classes import is_dispatching
from ..switches.modes import enable_grad
from ..switches.state import STATE
from ..warning import warn
from .retaining import move_retained
from .strided import Geometry, element_strides, storage_offset
from .view_rules import forbidden_view_message

HOLE = object()
"""Stands for the tensor in the recorded arguments of a view step."""

_OPEN_TAGS = (CreationTag.DEFAULT, CreationTag.MULTI_OUTPUT)
_LATE_REQUIRES_GRAD = (
    "This view was taken before its base began to require grad, so it reports requires_grad=True but no gradient "
    "flows through it, neither to the view nor to its base. Take the view again after requires_grad_()."
)


def gradient_edge(t: TensorBase) -> Any:
    """Where the gradient of ``t`` goes: a node, a port, or ``None``."""
    fn = t._fn
    if fn is not LAZY:
        return fn
    meta = t._meta
    assert meta is not None
    if meta.view is not None:
        fn = view_edge(t)
        if fn is not None:
            return fn
        if not meta.requires_grad and meta.view.tag in _OPEN_TAGS and requires_grad(t):
            warn(_LATE_REQUIRES_GRAD)
    if not meta.requires_grad:
        return None
    known = None if meta.accumulator is None else meta.accumulator()
    return accumulator(t) if known is None else known


def grad_fn_of(t: TensorBase) -> GraphNode | None:
    """``Tensor.grad_fn``: the node, regenerated first when a view is stale; ``None`` for leaves."""
    fn = t._fn
    if fn is LAZY:
        assert t._meta is not None
        fn = view_edge(t) if t._meta.view is not None else None
    return fn.node if fn.__class__ is Port else fn


def has_history(t: TensorBase) -> bool:
    """Whether a tensor has a node, as last known: asking does not bring a stale view up to date."""
    fn = t._fn
    if fn is LAZY:
        assert t._meta is not None
        fn = t._meta.view.fn if t._meta.view is not None else None
    return fn is not None


def requires_grad(t: TensorBase) -> bool:
    """``Tensor.requires_grad``; views inherit it from their base."""
    fn = t._fn
    if fn is None:
        return False
    if fn is not LAZY:
        return True
    meta = t._meta
    assert meta is not None
    if meta.requires_grad:
        return True
    view = meta.view
    return view is not None and (view.fn is not None or (t._sig.differentiable and requires_grad(view.base)))


_making = reentrant_lock()


def accumulator(t: TensorBase) -> GraphNode:
    """The AccumulateGrad node of a leaf, made when first needed and held weakly."""
    meta: Any = t._meta
    _making.acquire()  # another thread may be at it (``with`` takes twice as long)
    try:
        known = meta.accumulator
        node: GraphNode | None = None if known is None else known()
        if node is None:
            made: Any = NODE_CLASSES["AccumulateGrad"]()  # type: ignore[call-arg]
            made._sigs, made.variable = t._sig.alone, t
            made._extra = made._pending = None
            if meta.grad_dtype is not ...:
                made.expect_dtype()
            meta.accumulator = weakref.ref(made)
            node = made
        return node
    finally:
        _making.release()


def view_edge(t: TensorBase) -> Any:
    """The edge of a view, made anew if the storage was written since."""
    meta = t._meta
    assert meta is not None
    assert meta.view is not None
    view = meta.view
    if meta.inference or meta.storage is None:
        return view.fn
    now = meta.storage.version
    if view.version == now or (view.fn is None and not requires_grad(view.base)):
        return view.fn
    if view.tag != CreationTag.DEFAULT:
        raise RuntimeError(forbidden_view_message(view, "its base or another view of its base has been"))
    _regenerate(t, view, now)
    return view.fn


def _regenerate(t: TensorBase, view: View, now: int) -> None:
    old = view.fn
    base_edge = gradient_edge(view.base)
    if STATE.view_replay or t._sig.numpy != view.base._sig.numpy or is_dispatching(view.base) or bits_of(t):
        view.fn = replay_edge(view, base_edge)
    else:
        view.fn = _as_strided_node(t, view.base, base_edge)
    view.version = now
    assert t._meta is not None
    t._meta.hooks = None
    if t._meta.retains_grad:
        move_retained(t, old, view.fn)


def _as_strided_node(t: TensorBase, base: TensorBase, base_edge: Any) -> GraphNode:
    op = OPS["as_strided"]
    node = (op.general_node_class if t._sig.narrow else op.node_class).made((base_edge,), t._sig.alone)
    values = {
        "self_geometry": Geometry.of(base._array, storage_offset(base)),
        "size": tuple(t._sig.shape),
        "stride": element_strides(t._array),
        "storage_offset": storage_offset(t),
    }
    node.saved = tuple(values[name] for name in op.saved_names)
    assert isinstance(node, GraphNode)
    return node


def replay_edge(view: View, base_edge: Any) -> Any:
    """Run the recorded view steps on an alias of the base and take the resulting node."""
    if is_dispatching(view.base):  # its class makes the view
        with enable_grad():
            return gradient_edge(replay(view.replay, view.base))
    alias = wrap(view.base._array, base_edge, shares=True)
    return gradient_edge(replay(view.replay, alias))


def replay(steps: tuple[Any, ...], start: Any) -> Any:
    """Apply view steps to a tensor, or to an array."""
    for op, args, nr in steps:
        filled = [start if a is HOLE else a for a in args]
        out = op(*filled)
        start = out if op.outputs == 1 else out[nr]
    return start


def replayed_on(t: TensorBase, new_base: Any) -> Any:
    """The view ``t`` on another base, as one strided window or (view-replay mode, another dtype) by its own steps."""
    view = t._meta.view if t._meta is not None else None
    if view is None:
        return None
    if STATE.view_replay or t._sig.numpy != view.base._sig.numpy or bits_of(t):
        return replay(view.replay, new_base)
    geometry = Geometry.of(new_base._array, storage_offset(new_base))
    return OPS["as_strided"](new_base, tuple(t._sig.shape), element_strides(t._array), storage_offset(t), geometry)


def has_geometry_of_base(t: TensorBase, candidate: TensorBase) -> bool:
    """Whether a tensor has the sizes, strides and offset of the base of the view ``t``."""
    view = t._meta.view if t._meta is not None else None
    if view is None:
        return False
    want = Geometry.of(view.base._array, storage_offset(view.base))
    return want == Geometry.of(candidate._array, storage_offset(candidate))


late.find_edge = gradient_edge
