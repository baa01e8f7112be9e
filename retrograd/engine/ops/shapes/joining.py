"""Taking a tensor apart along a dimension, and joining tensors along one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import linear, listwise
from ..reductions.reduce import axes_of

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


listwise("cat", _cat, _cat_back, promote="common", as_given=True, layout="format")


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
    if axis == 0 and shape:  # the same without an array for each of the tensors
        return np.concatenate(tensors).reshape(len(tensors), *shape)
    return np.stack(tensors, axis=axis)


def _stack_back(g: Any, dim: int) -> Any:
    if g.__class__ is np.ndarray:
        return list(F.unbind(g, dim))
    return [F.select(g, dim, i) for i in range(g.shape[dim])]


listwise("stack", _stack, _stack_back, promote="common", as_given=True, layout="rows", alike=True)
