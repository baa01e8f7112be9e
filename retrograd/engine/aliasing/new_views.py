"""Turns results into views: each shares its base's version counter and stores the steps that recreate it."""

from __future__ import annotations

from typing import Any

from ..core.base import LAZY, CreationTag, Meta, TensorBase, View
from ..nodes.node import edges_into
from ..switches.state import STATE
from .strided import root_array
from .versions import storage_of
from .views import HOLE


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
