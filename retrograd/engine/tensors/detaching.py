"""Leaving the graph: tensors that share memory with another one but not its history."""

from __future__ import annotations

from typing import Any

from .. import observe
from ..aliasing.storage import stamp_write
from ..aliasing.strided import root_array
from ..aliasing.versions import share_storage, storage_of
from ..core import batches
from ..core.base import LAZY, TensorBase, is_inference, wrap
from ..core.bits import bits_of, mark, memory_of
from ..overriding.asked_functions import detached, is_asked
from ..switches import state
from ..switches.transforming import history_in_transform, write_in_transform


def _alias(t: TensorBase) -> Any:
    alias = wrap(memory_of(t), shares=True)
    mark(alias, bits_of(t))
    if is_inference(t):
        alias.need_meta().inference = True
    if state.MODE and state.STATE.batches:
        batches.mark_alias(alias, t)
    return alias


def detach(self: Any) -> Any:
    """A leaf that shares this tensor's memory and version, without history."""
    alias = detached(self) if is_asked(self) else _alias(self)
    if alias is not self:
        if self._is_view():
            root_array(self)  # where the memory begins, which the alias does not show
        share_storage(alias, self)
    if observe.observers:
        observe.notify("cut", "detach", self, alias)
    return alias


def detach_(self: Any) -> Any:
    """Make this tensor a leaf without history; ``RuntimeError`` on views."""
    write_in_transform(self, "detach_")
    if self._is_view():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are "
            "views of DDP buckets, and hence detach_() cannot be called on these gradients: set it to False, or free "
            "the gradients in another way."
        )
    if observe.observers:
        observe.notify("cut", "detach_", self, self)
    storage_of(self)
    meta = self.need_meta()
    kept, keeps_tangent = history_in_transform(self) if state.STATE.levels else (None, False)
    if self._fn is not None and self._fn is not LAZY and kept is None:
        meta.detached_at = stamp_write()
    self._fn = kept
    meta.requires_grad, meta.retains_grad = False, False
    if not keeps_tangent:
        meta.tangent = None
    return self


def data(self: Any) -> Any:
    """A leaf that shares memory but neither history nor version; within a derivative one without that one's history."""
    alias = detached(self, shares_version=False) if is_asked(self) else _alias(self)
    if self._is_view():
        storage_of(alias).root = root_array(self)
    if state.STATE.levels and alias is not self:
        alias._fn, keeps_tangent = history_in_transform(self, of_its_level=True)
        if keeps_tangent and self._meta is not None:
            meta = alias.need_meta()
            meta.tangent, meta.tangent_level = self._meta.tangent, self._meta.tangent_level
    if observe.observers:
        observe.notify("cut", "data", self, alias)
    return alias
