"""The memory under tensors: ``resize_`` and ``set_``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import observe
from ...aliasing.history import rebase_history
from ...aliasing.inplace import bump_version, prepare_write
from ...aliasing.memory_formats import check_memory_format, format_of, strides_in
from ...aliasing.strided import Geometry, contiguous_strides, storage_offset, strided
from ...aliasing.versions import storage_of
from ...aliasing.views import gradient_edge, requires_grad
from ...aliasing.write_rules import check_inplace
from ...nodes.node import GraphNode
from ...switches.state import STATE
from ...switches.transforming import write_in_transform
from ...table.public import public
from ...tensors.base import TensorBase, set_array
from ...tensors.bits import bits_of, mark, memory_of
from ...tensors.layouts import contiguous_format, preserve_format
from ...tensors.size import Size
from .storages import UntypedStorage, flat_memory


@public("resize_", function=False)
def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    """Change the size in place, keeping the memory as long as it is large enough; refused where grad is required."""
    if requires_grad(self) and not STATE.inference:
        raise RuntimeError("cannot resize variables that require grad. Use reshape, or resize the detached tensor.")
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if any(n < 0 for n in shape):
        raise RuntimeError(f"resize_: sizes must not be negative, got {list(shape)}")
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
        grown = np.zeros(needed, memory.dtype)
        grown[: memory.size] = memory
        storage_of(self).root = memory = grown
    bits = bits_of(self)
    set_array(self, strided(memory, shape, strides, offset))
    mark(self, bits)
    bump_version(self)
    return self


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
    records = STATE.grad_enabled and not STATE.inference and any(requires_grad(t) for t in operands)
    check_inplace(self, records)
    array, root = _window(self, source, storage_offset, size, stride)
    if array.dtype != self._sig.numpy:
        raise RuntimeError(
            f"Could not set tensor of type {array.dtype} to a tensor of type {self._sig.numpy}: both must have the "
            "same dtype"
        )
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
    if isinstance(source, UntypedStorage):
        source.alone = False
        memory = source._memory
        memory = memory if memory.dtype == t._sig.numpy else memory.view(t._sig.numpy)
    else:
        memory = flat_memory(source)
        if size is None:
            return source._array, memory
    shape = (memory.size - offset,) if size is None else tuple(size)
    strides = contiguous_strides(shape) if stride is None else tuple(stride)
    end = offset + Geometry(shape, strides, 0).extent()
    if end > memory.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{memory.itemsize} requiring a storage size of {end * memory.itemsize} are out of bounds for storage of "
            f"size {memory.nbytes}"
        )
    return strided(memory, shape, strides, offset), memory
