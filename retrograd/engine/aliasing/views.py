"""View relations: where gradients of views go, views made anew after writes, and what may be done to them."""

from __future__ import annotations

import weakref
from typing import Any

from ...locks import reentrant_lock
from .. import late
from ..core.base import LAZY, CreationTag, Meta, TensorBase, View, wrap
from ..core.bits import bits_of
from ..core.registry import OPS
from ..nodes.node import NODE_CLASSES, GraphNode, Port, edge_parts, edges_into, suffix_free
from ..overriding.dispatch_classes import is_dispatching
from ..switches.modes import enable_grad
from ..switches.state import STATE
from ..warning import warn
from .strided import Geometry, element_strides, root_array, storage_offset
from .versions import storage_of

# Error messages for refused writes to views, by creation tag.

_ADVICE = {
    CreationTag.NO_GRAD: (
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
        "both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
        "tracked) or both outside (if you want the inplace to be tracked)."
    ),
    CreationTag.INFERENCE: (
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
        "both the view and the inplace either both inside the inference_mode block (if you don't want the inplace to "
        "be tracked) or both outside (if you want the inplace to be tracked)."
    ),
    CreationTag.MULTI_OUTPUT: (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    CreationTag.IN_CUSTOM_FUNCTION: (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}
_MODE_NAMES = {CreationTag.NO_GRAD: ("no_grad mode", "with grad mode enabled"),
               CreationTag.INFERENCE: ("inference mode", "in normal mode")}  # fmt: skip


def forbidden_view_message(view: View, what: str) -> str:
    """Why a write to (or through the base of) this view is refused."""
    origin = ""
    if view.fn is not None:
        node, nr = edge_parts(view.fn)
        origin = f"Output {nr} of {suffix_free(type(node).__name__)} is a view"
    if view.tag in _MODE_NAMES or view.fn is None:
        mode, when = _MODE_NAMES.get(view.tag, _MODE_NAMES[CreationTag.NO_GRAD])
        prefix = f"{origin} of a view which was created in {mode}" if origin else f"A view was created in {mode}"
        text = f"{prefix} and {what} modified inplace {when}."
    else:
        text = f"{origin} and {what} modified inplace."
    return text + _ADVICE[view.tag]


# `retain_grad`: which node stores a tensor's gradient, also after the tensor was written.


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


# The node that receives a tensor's gradient: that of a result, the accumulator of a leaf, the node of a view.

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


# Turns results into views: each shares its base's version counter and stores the steps that recreate it.


def make_views(views: list[Any], operand: TensorBase, node: Any, op: Any, args: tuple[Any, ...]) -> None:
    """Make the results of ``op(*args)``, which share memory with ``operand``, views of the operand's root."""
    storage = storage_of(operand)
    whole = operand.need_meta()
    if whole.inference:
        _make_inference_views(views, operand, storage)
        return
    parent = whole.view
    base, before = (operand, None) if parent is None else (parent.base, parent.chain)
    tag, version = _creation_tag(parent, op), storage.version
    given = tuple([HOLE if isinstance(a, TensorBase) else a for a in args])
    edges = [None] * len(views) if node is None else edges_into(node)
    for nr, t in enumerate(views):
        t._fn, t._meta, view = LAZY, (meta := Meta()), View()
        meta.storage, meta.view = storage, view
        view.base, view.fn, view.version, view.tag = base, edges[nr], version, tag
        view.before, view.op, view.args, view.nr = before, op, given, nr


def _make_inference_views(views: list[Any], operand: TensorBase, storage: Any) -> None:
    """Views in memory only: inference tensors know nothing of bases."""
    root_array(operand)
    for t in views:
        meta = t.need_meta()
        meta.storage = storage
        meta.inference = True


def _creation_tag(parent: View | None, op: Any) -> int:
    inherited = parent.tag if parent is not None else CreationTag.DEFAULT
    if inherited == CreationTag.INFERENCE:
        return inherited
    if STATE.inference:
        return CreationTag.INFERENCE
    if not STATE.grad_enabled:
        return CreationTag.NO_GRAD
    return CreationTag.MULTI_OUTPUT if op.outputs != 1 else inherited
