"""Joining and slicing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...aliasing.strided import Geometry, as_strided_backward, strided
from ...calls.result_layout import arranged
from ...core.registry import F
from ...table.rows import linear, listwise
from ..reductions.reduce import axes_of, plane_of

# Taking a tensor apart along a dimension, and joining tensors along one.

# -- apart


def _unbind(self: Any, dim: int = 0) -> Any:
    """A tuple of the slices along a dimension, as views."""
    indices = _rows(self.shape, dim)
    return tuple(self) if indices.__class__ is range else tuple([self[index] for index in indices])


def _rows(shape: tuple[int, ...], dim: int) -> Sequence[Any]:
    """The indices of ``unbind``."""
    axes = axes_of(dim, len(shape))
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = axes[0]
    if axis == 0 and len(shape) > 1:
        return range(shape[0])  # the same views in half the time; all of them at once in a quarter
    return [(*(slice(None),) * axis, i, Ellipsis) for i in range(shape[axis])]


linear("unbind", _unbind, view=True, outputs="many", pieces=_rows, self=lambda g, dim: F.stack(list(g), dim))


def split_points(n: int, sizes: Any, dim: int) -> list[int]:
    """Where pieces of the given size(s) begin, and the end."""
    if isinstance(sizes, int):
        if sizes <= 0 and n:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        return [*range(0, max(n, 1), max(sizes, 1)), n]
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(sizes)}"
        )
    return [0, *(int(s) for s in np.cumsum(sizes))]


def _split(self: Any, split_size: Any, dim: int = 0) -> Any:
    return tuple([self[index] for index in _pieces(self.shape, split_size, dim)])


def _pieces(shape: tuple[int, ...], sizes: Any, dim: int) -> Sequence[Any]:
    """The indices of pieces of the given size(s) along a dimension."""
    axis = axes_of(dim, len(shape))[0]
    return [(*(slice(None),) * axis, slice(a, b)) for a, b in itertools.pairwise(split_points(shape[axis], sizes, dim))]


def _joined(g: Any, dim: int, self_sizes: Any, split_size: Any) -> Any:
    if g[0].__class__ is np.ndarray:
        return np.concatenate(g, dim)  # pieces of one array fit: ``cat`` need not ask (4 µs)
    return F.cat(list(g), dim)


linear("_split", _split, node="SplitBackward0", view=True, outputs="many", pieces=_pieces,
       self=_joined)  # fmt: skip
linear("_split_with_sizes", _split, node="SplitWithSizesBackward0", view=True, outputs="many", pieces=_pieces,
       self=_joined)  # fmt: skip

for _name in ("split", "split_with_sizes"):
    linear(f"_unsafe_{_name}", _split, outputs="many", pieces=_pieces, self=_joined)


# -- together


def _cat_back(g: Any, tensors_sizes: Any, dim: int) -> Any:
    pieces, at = [], 0
    for sizes in tensors_sizes:
        if tuple(sizes) == (0,):
            pieces.append(F.reshape(F._slice(g, 0, 0, 0), (0,)))
            continue
        n = sizes[dim % len(sizes)]
        pieces.append(F._slice(g, dim, at, at + n))
        at += n
    return pieces


def _cat(tensors: Any, dim: int = 0) -> Any:
    """Join tensors along a dimension; empty 1-d tensors are skipped."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, a in enumerate(tensors):
        if not a.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    kept = [a for a in tensors if a.shape != (0,)] or list(tensors[:1])
    axis = axes_of(dim, kept[0].ndim)[0]
    try:
        return np.concatenate(kept, axis=axis)
    except ValueError:
        raise _misfit(kept, axis) from None


def _misfit(tensors: Any, axis: int) -> RuntimeError:
    """What torch says of tensors that do not fit together."""
    first = tensors[0].shape
    if not first:
        return RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    for i, a in enumerate(tensors):
        if len(a.shape) != len(first):
            return RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(a.shape)}")
        for d, (n, m) in enumerate(zip(first, a.shape, strict=True)):
            if n != m and d != axis:
                return RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list."
                )
    return RuntimeError("tensors cannot be concatenated")


listwise("cat", _cat, _cat_back, promote="common", as_given=True, layout="joined")


def _stack(tensors: Any, dim: int = 0) -> Any:
    """Join tensors along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    for i, a in enumerate(tensors if len({a.shape for a in tensors}) > 1 else ()):
        if a.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(a.shape)} at entry {i}"
            )
    axis = axes_of(dim, len(shape) + 1)[0]
    if axis < len(shape) and not all(a.flags.c_contiguous for a in tensors):  # as a part of that dimension
        joined = np.concatenate(tensors, axis=axis)
        joined = arranged("joined", joined, tensors)
        return joined.reshape(*shape[:axis], len(tensors), *shape[axis:])
    if axis == 0 and shape:  # the same without an array for each of the tensors
        return np.concatenate(tensors).reshape(len(tensors), *shape)
    return arranged("rows", np.stack(tensors, axis=axis), tensors)


def _stack_back(g: Any, dim: int) -> Any:
    if g.__class__ is np.ndarray:
        return list(F.unbind(g, dim))
    return [F.select(g, dim, i) for i in range(g.shape[dim])]


listwise("stack", _stack, _stack_back, promote="common", as_given=True, reorders=True, alike=True)


# Views of a part of a tensor: one index, a range, a diagonal, a strided window on its memory.


def selected(self: Any, dim: int, index: int) -> Any:
    """One slice along a dimension, without that dimension; a view."""
    if dim.__class__ is int and dim == 0 and self.ndim > 1 and -len(self) <= index < len(self):
        return self[index]  # ``x[i]``: 0.6 µs less than for any dimension
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = axes_of(dim, self.ndim)[0]
    n = self.shape[axis]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {axis}"
        )
    return self[(slice(None),) * axis + (index, Ellipsis)]


def _select_back(g: Any, self_sizes: Any, dim: int, index: int) -> Any:
    return F._select_backward(g, tuple(self_sizes), dim, index)


def _select_backward(g: Any, sizes: tuple[int, ...], dim: int, index: int) -> Any:
    out = np.zeros(sizes, g.dtype)
    out[(slice(None),) * axes_of(dim, len(sizes))[0] + (index,)] = g
    return out


linear("select", selected, view=True, self=_select_back)
linear("_select_backward", _select_backward, node="SelectBackwardBackward0", tensors="g",
       g=lambda g, dim, index: F.select(g, dim, index))  # fmt: skip


def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    if self.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = axes_of(dim, self.ndim)[0]
    return self[(slice(None),) * axis + (slice(start, end, step),)]


def _slice_backward(g: Any, sizes: tuple[int, ...], dim: int, start: Any, end: Any, step: int) -> Any:
    out = np.zeros(sizes, g.dtype)
    out[(slice(None),) * axes_of(dim, len(sizes))[0] + (slice(start, end, step),)] = g
    return out


linear(
    "_slice", _slice, node="SliceBackward0", view=True,
    self=lambda g, self_sizes, dim, start, end, step: F._slice_backward(
        g, tuple(self_sizes), dim, start, end, step
    ),
)  # fmt: skip
linear("_slice_backward", _slice_backward, node="SliceBackwardBackward0", tensors="g",
       g=lambda g, dim, start, end, step: F._slice(g, dim, start, end, step))  # fmt: skip


def diagonal_of(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two dimensions as the last one; a view."""
    plane_of(dim1, dim2, self.ndim)
    view = np.diagonal(self, offset, dim1, dim2)
    return np.lib.stride_tricks.as_strided(_start_of_diagonal(self, offset, dim1, dim2), view.shape, view.strides)


def _start_of_diagonal(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    """The array from the diagonal's first element on (NumPy's diagonal is read-only)."""
    index: list[Any] = [slice(None)] * self.ndim
    if offset >= 0:
        index[dim2 % self.ndim] = slice(min(offset, self.shape[dim2]), None)
    else:
        index[dim1 % self.ndim] = slice(min(-offset, self.shape[dim1]), None)
    return self[tuple(index)]


def _diagonal_backward(g: Any, sizes: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    out = np.zeros(sizes, g.dtype)
    diagonal_of(out, offset, dim1, dim2)[...] = g
    return out


linear(
    "diagonal", diagonal_of, view=True, reorders=True,
    self=lambda g, self_sizes, offset, dim1, dim2: F._diagonal_backward(
        g, tuple(self_sizes), offset, dim1, dim2
    ),
)  # fmt: skip
linear("_diagonal_backward", _diagonal_backward, node="DiagonalBackwardBackward0", tensors="g",
       g=lambda g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2))  # fmt: skip


def _as_strided_window(self: Any, size: Any, stride: Any, storage_offset: int, self_geometry: Geometry) -> Any:
    return strided(self, tuple(size), tuple(stride), storage_offset - self_geometry.offset)


def _as_strided_grad(g: Any, self_geometry: Geometry, size: Any, stride: Any, storage_offset: int) -> Any:
    return F._as_strided_backward(g, self_geometry, tuple(size), tuple(stride), storage_offset)


linear(
    "as_strided",
    _as_strided_window,
    node="AsStridedBackward0",
    view=True,
    reorders=True,
    public=False,
    self=_as_strided_grad,
)
linear(
    "_as_strided_backward", as_strided_backward, node="AsStridedScatterBackward0", tensors="g",
    g=lambda g, input_geometry, size, stride, offset: F._strided_of_dense(g, input_geometry, size, stride, offset),
)  # fmt: skip


def _strided_of_dense(self: Any, geometry: Geometry, size: Any, stride: Any, offset: int) -> Any:
    """What a strided window reads of an array laid out by ``geometry``."""
    window = Geometry(tuple(size), tuple(stride), offset)
    start = min(window.offset, geometry.offset)
    end = max(window.offset + window.extent(), geometry.offset + geometry.extent())
    line = np.zeros(max(end - start, 1), self.dtype)
    strided(line, geometry.shape, geometry.strides, geometry.offset - start)[...] = self
    return strided(line, window.shape, window.strides, window.offset - start).copy()


linear("_strided_of_dense", _strided_of_dense, self=lambda g, geometry, size, stride, offset:
       F._as_strided_backward(g, geometry, size, stride, offset))  # fmt: skip
