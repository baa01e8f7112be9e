"""The version counter of a tensor, shared with all tensors of the same memory."""

from __future__ import annotations

from typing import Any

from ..core.base import LAZY, TensorBase
from ..nodes.node import Port
from .storage import Storage


def storage_of(t: TensorBase) -> Storage:
    """The version counter of a tensor, made on first use.

    A node that saved this tensor as its own output knows only the array; its
    ``output_storages`` hold the counter, so that a later write is noticed.
    """
    meta = t._meta or t.need_meta()
    if meta.storage is None:
        fn = t._fn
        meta.storage = Storage() if fn is None or fn is LAZY else _storage_through_node(fn)
    return meta.storage


def _storage_through_node(edge: Any) -> Storage:
    node: Any = edge
    nr = 0
    if edge.__class__ is Port:
        node, nr = edge.node, edge.nr
    op = None if node.takes_attributes else getattr(node, "op", None)  # a program's own node may have any attributes
    if op is None or not op.saves_result:
        return Storage()
    if node.output_storages is None:
        node.output_storages = {}
    storage: Storage = node.output_storages.setdefault(nr, Storage())
    return storage


def share_storage(t: TensorBase, source: TensorBase) -> None:
    """Make ``t`` count versions together with ``source``."""
    t.need_meta().storage = storage_of(source)


def version_of(t: TensorBase) -> int:
    """How often a tensor's memory was written, without making a record."""
    meta = t._meta
    if meta is not None and meta.storage is not None:
        return meta.storage.version
    return storage_of(t).version if t._fn is not None and t._fn is not LAZY else 0
