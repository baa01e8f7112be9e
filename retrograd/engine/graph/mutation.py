"""``allow_mutation_on_saved_tensors``: saved tensors are copied before they are overwritten."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ...locks import reentrant_lock
from ..aliasing.strided import address
from ..aliasing.versions import version_of
from ..calls.inplace import before_write
from ..core.base import TensorBase
from ..custom_op.memory import memory_block
from .interface import saved_tensors_hooks


class _Handle:
    """Stands for one saved value; only the nodes that saved it hold it."""

    __slots__ = ("__weakref__",)


TensorKey = tuple[int, int, int]
"""Object id, address and version of a saved tensor."""


class _AllowMutationOnSavedContext:
    """The saved values, their tensors, and which of them were copied.

    PyTorch finds saved values by the address of the written tensor, and so misses writes through a view that starts
    elsewhere. Here the key is the block of memory they share, so that base, views and ``.data`` are all noticed.
    """

    def __init__(self) -> None:
        self.active = True
        self.cloned: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[TensorKey, _Handle] = WeakValueDictionary()
        self.sid_to_tid: defaultdict[int, set[TensorKey]] = defaultdict(set)
        """Block of memory -> keys of the tensors saved from it."""
        self._lock = reentrant_lock()

    def clear(self) -> None:
        """Forget everything."""
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()

    def pack(self, t: Any) -> _Handle:
        """The handle of a tensor that is being saved; the same one for the same tensor and version."""
        tid = (id(t), address(t._array), version_of(t))
        with self._lock:
            self.sid_to_tid[memory_block(t)].add(tid)
            handle = self.tid_to_weakhandle.get(tid)
            # One whose value was copied means the earlier value, even if version and address are the same.
            if handle is None or handle not in self.original:
                handle = self.tid_to_weakhandle[tid] = _Handle()
                # An alias: the tensor itself might refer to the node that holds the handle.
                self.original[handle] = t.detach()
            return handle

    def unpack(self, handle: _Handle) -> Any:
        """The copy if one was made, else the original."""
        assert self.active, (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
            "originally recorded. Call backward inside the with block."
        )
        value = self.cloned.get(handle)
        if value is None:
            value = self.original.get(handle)
        assert value is not None, "Trying to backward outside of the context in which the graph was recorded."
        return value

    def before_write(self, t: TensorBase) -> None:
        """Copy the saved values that the write to ``t`` would change."""
        with self._lock:
            for tid in tuple(self.sid_to_tid.get(memory_block(t), ())):
                handle = self.tid_to_weakhandle.get(tid)
                original = None if handle is None else self.original.get(handle)
                if handle is None or original is None or not np.may_share_memory(original._array, t._array):
                    continue
                self.cloned[handle] = original.clone()
                del self.original[handle]


_open = threading.local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Let saved tensors be changed in place: each is copied first, so that backward sees the old value.

    Forward and backward must both run inside. Raises ``RuntimeError`` when nested (the outer block goes on
    working), ``AssertionError`` in a backward after the block.
    """
    if getattr(_open, "context", None) is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    _open.context = context
    before_write.append(context.before_write)
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        before_write.remove(context.before_write)
        _open.context = None
        context.active = False
        context.clear()
