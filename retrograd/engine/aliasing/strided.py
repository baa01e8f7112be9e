"""Strides in elements, offsets into a storage, and ``as_strided`` on NumPy arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.absent import AbsentMemory
from ..core.base import Array, TensorBase
from ..core.bits import memory_of
from ..core.narrow import kind_of
from .versions import storage_of


def element_strides(array: Array) -> tuple[int, ...]:
    """Strides counted in elements, as PyTorch counts them; dimensions of size 0 or 1 as if contiguous."""
    item = array.itemsize or 1
    if not array.size and not any(array.strides):  # NumPy gives new empty arrays no strides at all
        return contiguous_strides(array.shape)
    return tuple(s // item for s in array.strides)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def address(array: Array) -> int:
    """Address of the first element."""
    return int(array.__array_interface__["data"][0])


def partly_overlaps(a: Array, b: Array) -> bool:
    """Whether two arrays without gaps share some, but not all, of their memory in the same arrangement."""
    if not a.size or not b.size or not (is_dense(a) and is_dense(b)):
        return False
    start_a, start_b = address(a), address(b)
    end_a, end_b = start_a + a.nbytes, start_b + b.nbytes
    if start_a == start_b and end_a == end_b:
        return steps(a) != steps(b)
    return start_a < end_b and start_b < end_a


def steps(array: Array) -> list[tuple[int, int]]:
    """Sizes and strides of the dimensions that have several entries."""
    return [step for step in zip(array.shape, array.strides, strict=True) if step[0] != 1]


def root_array(t: TensorBase) -> Any:
    """The array at the start of a tensor's storage."""
    storage = storage_of(t)
    root: Any = storage.root
    if root is None:
        meta = t._meta
        base = meta.view.base if meta is not None and meta.view is not None else t
        root = storage.root = memory_of(base)
    return root


def storage_offset(t: TensorBase) -> int:
    """Offset of a tensor's first element in its storage, in elements."""
    if t._array.__class__ is AbsentMemory:
        return t._array.offset
    root = root_array(t)
    array = memory_of(t)
    start = address(array) - address(root)
    if not 0 <= start < root.nbytes and _owner(array) is not _owner(root):  # ``set_`` or ``data``: it has left its base
        start = address(array) - address(_owner(array))
    return start // (array.itemsize or 1)


def _owner(array: Array) -> Array:
    """The array whose memory this one is a part of."""
    owner, part = array, array.base
    while part is not None:
        owner, part = (part if isinstance(part, np.ndarray) else owner), getattr(part, "base", None)
    return owner


class Geometry(NamedTuple):
    """Shape, strides and offset in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @staticmethod
    def of(array: Array, offset: int) -> Geometry:
        """Geometry of an array."""
        return Geometry(array.shape, element_strides(array), offset)

    def extent(self) -> int:
        """Number of elements from the first to the last."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    def end(self) -> int:
        """The place after the last element."""
        return self.offset + self.extent()


def is_dense(array: Array) -> bool:
    """Whether the elements lie without gaps and without overlap, in whatever order."""
    if array.flags.forc:
        return True
    step = array.itemsize
    for stride, size in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= size
    return True


def strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """A window on an array's memory; ``offset`` counts elements from the array's first one."""
    item = array.itemsize
    if item == 1 and kind_of(array.dtype) == "f":  # NumPy knows no such numbers by their sign
        return strided(array.view(np.uint8), shape, strides, offset).view(array.dtype)
    # two elements that far apart, of which the second is the first one of the window; it may lie before the array
    line = np.lib.stride_tricks.as_strided(array, (2,), (offset * item,))[1:] if offset else array
    return np.lib.stride_tricks.as_strided(line, shape, tuple(s * item for s in strides))


def zeros_like_layout(geometry: Geometry, dtype: Any) -> Array:
    """Zeros with the given shape and strides (row-major where elements overlap)."""
    shape, strides, _ = geometry
    if any(s == 0 and n > 1 for n, s in zip(shape, strides, strict=True)) or strides == contiguous_strides(shape):
        return np.zeros(shape, dtype)
    return strided(np.zeros(max(geometry.extent(), 1), dtype), shape, strides, 0)


def as_strided_backward(
    g: Array, input_geometry: Geometry, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> Array:
    """Gradient of ``as_strided``: each element of ``g`` goes back to the place it was read from."""
    window = Geometry(tuple(size), tuple(stride), offset)
    start = min(window.offset, input_geometry.offset)
    end = max(window.offset + window.extent(), input_geometry.offset + input_geometry.extent())
    line = np.zeros(max(end - start, 1), g.dtype)
    places = strided(np.arange(line.size), window.shape, window.strides, window.offset - start)
    np.add.at(line, places.reshape(-1), np.asarray(g).reshape(-1))
    result = strided(line, input_geometry.shape, input_geometry.strides, input_geometry.offset - start)
    counts = np.zeros(line.size, np.int64)
    own = strided(np.arange(line.size), input_geometry.shape, input_geometry.strides, input_geometry.offset - start)
    np.add.at(counts, own.reshape(-1), 1)
    if counts.size and counts.max(initial=0) > 1:  # an element seen several times shares its gradient
        return result / counts[own]
    return result.copy()
