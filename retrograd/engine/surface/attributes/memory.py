"""Changes the memory of tensors: ``resize_`` and ``set_``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import observe
from ...aliasing.memory_formats import check_memory_format, format_of, strides_in
from ...aliasing.owners import owner_of
from ...aliasing.shared_memory import aliases_of, move_to_size
from ...aliasing.strided import Geometry, contiguous_strides, storage_offset, strided
from ...aliasing.versions import storage_of
from ...aliasing.views import gradient_edge, requires_grad
from ...aliasing.write_rules import check_inplace
from ...calls.history import rebase_history
from ...calls.inplace import bump_version, prepare_write
from ...calls.refusals import refuse
from ...core.argument_checks import type_name_of
from ...core.base import TensorBase, set_array
from ...core.batches import check_write
from ...core.bits import bits_of, mark, memory_of
from ...core.dtypes import c_name, scalar_name
from ...core.layouts import contiguous_format, preserve_format
from ...core.size import Size
from ...nodes.node import GraphNode
from ...switches import determinism
from ...switches.state import STATE
from ...switches.transforming import write_in_transform
from ...table.public import public
from .storages import UntypedStorage, flat_memory, memory_at
from .typed_storages import TypedStorage


@public("resize_", function=False)
def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    """Change the size in place, keeping the memory as long as it is large enough; refused where grad is required."""
    if requires_grad(self) and not STATE.inference:
        raise RuntimeError("cannot resize variables that require grad. Use reshape, or resize the detached tensor.")
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    negative = next((n for n in shape if n < 0), None)
    refuse(negative is not None, f"Trying to create tensor with negative dimension {negative}: {list(shape)}")
    check_memory_format("resize_", memory_format)
    if memory_format == preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve: resize_ takes the format that the result is to have")
    if memory_format is None and shape == self._sig.shape:
        return self
    write_in_transform(self, "resize_")
    strides = strides_in(shape, contiguous_format if memory_format is None else memory_format)
    prepare_write(self)
    memory, offset = flat_memory(self).view(self._sig.numpy), storage_offset(self)
    needed = offset + Size(shape).numel()
    if needed > memory.size:
        before, memory = memory.size, _grown(self, memory, needed)
        determinism.fill(memory[before:])
    bits = bits_of(self)
    set_array(self, strided(memory, shape, strides, offset))
    mark(self, bits)
    bump_version(self)
    return self


def _grown(t: Any, memory: Any, count: int) -> Any:
    """Memory for more elements, with those that are there, also under all other tensors that lie in it."""
    owner = owner_of(memory_of(t))
    others = aliases_of(t, owner) if memory.size and isinstance(owner, np.ndarray) else [t]
    if len(others) > 1:
        return move_to_size(memory, count * memory.itemsize, others).view(memory.dtype)
    grown = np.zeros(count, memory.dtype)
    grown[: memory.size] = memory
    storage_of(t).root = grown
    return grown


@public("resize_as_")
def resize_as_(self: Any, other: Any, memory_format: Any = None) -> Any:
    """``self.resize_(other.size())``, also in the memory format of ``other`` where it is to be preserved."""
    if memory_format == preserve_format:
        memory_format = format_of(memory_of(other))
    return resize_(self, tuple(other.shape), memory_format=memory_format)


class _NotImplemented(GraphNode):
    """History of a write that has no derivative."""

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        raise RuntimeError("derivative for aten::set_ is not implemented: use copy_ where a gradient is wanted")


_NotImplemented.__name__ = _NotImplemented.__qualname__ = "NotImplemented"
_NotImplemented.qualified_name = "torch::autograd::NotImplemented"


@public("set_", function=False)
def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Let a tensor look at the memory of another tensor or storage (or at none); what it becomes has no derivative."""
    write_in_transform(self, "set_")
    operands = [t for t in (self, source) if isinstance(t, TensorBase)]
    if STATE.batches:
        check_write(self, operands, "aten::set_")
    records = STATE.grad_enabled and not STATE.inference and any(requires_grad(t) for t in operands)
    check_inplace(self, records)
    array, root = _window(self, source, storage_offset, size, stride)
    edges = tuple([gradient_edge(t) for t in operands]) if records else ()
    prepare_write(self)
    before = storage_of(self).version
    storage_of(self).root = root
    bits = bits_of(self)
    set_array(self, array)
    mark(self, bits)
    bump_version(self)
    if self._meta is not None:
        self._meta.accumulator = None  # graphs that were recorded before lead to the leaf that it was
    if records:
        rebase_history(self, _NotImplemented(edges, self._sig.alone))
    if observe.observers:
        observe.notify("memory_set", self, before)
    return self


def _window(t: Any, source: Any, offset: int, size: Any, stride: Any) -> tuple[Any, Any]:
    """The array to look at, and the memory it lies in."""
    if source is None:
        array = np.zeros((0,), t._sig.numpy)
        return array, array
    storage = _storage_of(t, source)
    memory = memory_at(storage, t._sig.numpy)
    if size is None and isinstance(source, TensorBase):
        return source._array, memory
    shape = (memory.size - offset,) if size is None else tuple(size)
    strides = contiguous_strides(shape) if stride is None else tuple(stride)
    refuse(offset < 0, f"Tensor: invalid storage offset {offset}")
    refuse(
        any(s < 0 for s in strides),
        f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}",
    )
    end = offset + Geometry(shape, strides, 0).extent()
    if end > memory.size:
        storage.resize_(end * memory.itemsize)
        memory = memory_at(storage, t._sig.numpy)
    return strided(memory, shape, strides, offset), memory


def _storage_of(t: Any, source: Any) -> UntypedStorage:
    """The memory of a tensor or storage, whose dtype is the tensor's."""
    if isinstance(source, UntypedStorage):
        return source
    mine = t._sig.numpy
    if isinstance(source, TypedStorage):
        refuse(
            source.dtype.numpy != mine,
            f"Expected a Storage of type {scalar_name(mine)} or an UntypedStorage, but got type "
            f"{scalar_name(source.dtype.numpy)} for argument 1 'storage'",
        )
        return source._untyped_storage
    if not isinstance(source, TensorBase):
        raise TypeError(
            f"set_() received an invalid combination of arguments - got ({type_name_of(source)}), but expected a "
            "Tensor or a Storage"
        )
    theirs = source._sig.numpy
    refuse(theirs != mine, f"Could not set tensor of type {c_name(theirs)} to a tensor of type {c_name(mine)}")
    found: UntypedStorage = UntypedStorage.of(flat_memory(source))
    return found
