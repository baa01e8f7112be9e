"""Rearranged elements: flipped, rolled, repeated, on diagonals, in triangles, written into copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.memory_formats import copied_with, strides_like
from ...aliasing.strided import strided
from ...calls.result_layout import arranged
from ...core.registry import F
from ...kernels.sums import summed
from ...table.rows import linear, listwise
from ..reductions.reduce import axes_of, plane_of
from .joining import diagonal_of, selected

linear("flip", lambda self, dims: np.array(np.flip(self, axes_of(dims, self.ndim) if dims else ())), public=False,
       self=lambda g, dims: F.flip(g, dims), layout="copy")  # fmt: skip


def _roll(self: Any, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    if not dims:
        return arranged("rows", np.roll(self, shifts[0]), [self])
    return arranged("format", np.roll(self, shifts, axes_of_each(dims, self.ndim)), [self])


def axes_of_each(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Non-negative axes; the same one may come twice."""
    return tuple(axes_of(d, ndim)[0] for d in dims)


linear(
    "roll", _roll, public=False, self=lambda g, shifts, dims: F.roll(g, tuple(-s for s in shifts), dims), reorders=True
)


def _rot90(self: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Rotate by ``k`` times 90 degrees in the plane of ``dims``."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.ndim}")
    first, second = axes_of_each(tuple(dims), self.ndim)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return np.array(np.rot90(self, k, (first, second)))


linear("rot90", _rot90, reorders=True, self=lambda g, k, dims: F.rot90(g, -k, dims))


def _repeat(self: Any, repeats: tuple[int, ...]) -> Any:
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    sizes = [n * r for n, r in zip((1,) * (len(repeats) - self.ndim) + self.shape, repeats, strict=True)]
    for size in sizes:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {sizes}")
    return np.array(np.tile(self, repeats)).reshape(sizes)


def _repeat_back(g: Any, self_sizes: Any, repeats: tuple[int, ...]) -> Any:
    lead = len(repeats) - len(self_sizes)
    if lead:
        g = F._sum_dim(g, tuple(range(lead)))
    split: list[int] = []
    again = []  # where a repeated dimension counts its repetitions
    for times, size in zip(repeats[lead:], self_sizes, strict=True):
        if times != 1:
            again.append(len(split))
            split.append(times)
        split.append(size)
    return F._sum_dim(F.reshape(g, tuple(split)), tuple(again)) if again else g


linear("repeat", _repeat, public=False, as_given=True, self=_repeat_back, layout="rows")


# -- windows


def _unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """All windows of ``size`` elements along ``dimension``, ``step`` apart, in a new last dimension."""
    axis = (*axes_of(dimension, self.ndim), 0)[0]
    whole = self.shape[axis] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > whole:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {whole} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return strided(self, (size,), (1,), 0)
    count = (self.shape[axis] - size) // step + 1
    shape = (*self.shape[:axis], count, *self.shape[axis + 1 :], size)
    strides = (*self.strides[:axis], self.strides[axis] * step, *self.strides[axis + 1 :], self.strides[axis])
    return np.lib.stride_tricks.as_strided(self, shape, strides)


def _unfold_backward(g: Any, sizes: tuple[int, ...], dimension: int, size: int, step: int) -> Any:
    out = np.zeros(sizes, g.dtype)
    if not sizes:
        return np.array(summed(g, (g.ndim - 1,))) if size else out
    axis = axes_of(dimension, len(sizes))[0]
    count = g.shape[axis]
    for k in range(size):
        out[(slice(None),) * axis + (slice(k, k + step * count, step),)][...] += g[..., k]
    return out


linear("unfold", _unfold, view=True, reorders=True, public=False,
       self=lambda g, self_sizes, dimension, size, step: F._unfold_backward(
           g, tuple(self_sizes), dimension, size, step))  # fmt: skip
linear("_unfold_backward", _unfold_backward, node="UnfoldBackwardBackward0", tensors="g",
       g=lambda g, dimension, size, step: F.unfold(g, dimension, size, step))  # fmt: skip


# -- diagonals and triangles


def _diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last dimension laid on the diagonal of a new plane."""
    ndim = self.ndim + 1
    first, second = plane_of(dim1, dim2, ndim)
    n = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for axis in sorted((first, second)):
        shape.insert(axis, n)
    out = np.zeros(shape, self.dtype)
    diagonal_of(out, offset, first, second)[...] = self
    return out


linear("diag_embed", _diag_embed, self=lambda g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2))
linear("_diagonal_copy", lambda self, offset, dim1, dim2: np.array(diagonal_of(self, offset, dim1, dim2)),
       node="DiagonalBackward0_copy", self=lambda g, self_sizes, offset, dim1, dim2: F._diagonal_backward(
           g, tuple(self_sizes), offset, dim1, dim2))  # fmt: skip


def _needs_matrix(name: str, self: Any) -> None:
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


def _tril(self: Any, diagonal: int = 0) -> Any:
    """The lower triangle, zeros above ``diagonal``."""
    _needs_matrix("tril", self)
    return np.tril(self, diagonal)


def _triu(self: Any, diagonal: int = 0) -> Any:
    """The upper triangle, zeros below ``diagonal``."""
    _needs_matrix("triu", self)
    return np.triu(self, diagonal)


linear("tril", _tril, inplace=True, self=lambda g, diagonal: F.tril(g, diagonal), layout="rows")
linear("triu", _triu, inplace=True, self=lambda g, diagonal: F.triu(g, diagonal), layout="rows")


# -- copies with a window written


def _written(self: Any, src: Any, window: Any) -> Any:
    """A copy whose part, as ``window`` finds it, is ``src``."""
    out = copied_with(strides_like(self), self)
    part = window(out)
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    part[...] = src
    return out


def _diagonal_scatter(self: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy with ``src`` on a diagonal."""
    return _written(self, src, lambda a: diagonal_of(a, offset, dim1, dim2))


linear(
    "diagonal_scatter", _diagonal_scatter, promote="", layout="copy",
    self=lambda g, offset, dim1, dim2: F.diagonal_scatter(
        g, F.zeros_like(F.diagonal(g, offset, dim1, dim2)), offset, dim1, dim2),
    src=lambda g, offset, dim1, dim2: F._diagonal_copy(g, offset, dim1, dim2),
)  # fmt: skip


def _select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    """A copy with ``src`` as one entry of a dimension."""
    return _written(self, src, lambda a: selected(a, dim, index))


linear(
    "select_scatter", _select_scatter, real_only="select_scatter", layout="copy",
    self=lambda g, dim, index: F.select_scatter(g, F.zeros_like(F.select(g, dim, index)), dim, index),
    src=lambda g, dim, index: F.select(g, dim, index),
)  # fmt: skip


def _slice_of(a: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    return a[(slice(None),) * axes_of(dim, a.ndim)[0] + (slice(start, end, step),)]


def _slice_scatter(self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A copy with ``src`` in a slice of a dimension."""
    return _written(self, src, lambda a: _slice_of(a, dim, start, end, step))


linear(
    "slice_scatter", _slice_scatter, real_only="slice_scatter", layout="copy",
    self=lambda g, dim, start, end, step: F.slice_scatter(
        g, F.zeros_like(F._slice(g, dim, start, end, step)), dim, start, end, step),
    src=lambda g, dim, start, end, step: F._slice(g, dim, start, end, step),
)  # fmt: skip


def _as_strided_scatter(self: Any, src: Any, size: Any, stride: Any, offset: int) -> Any:
    return _written(self, src, lambda a: strided(a, tuple(size), tuple(stride), offset))


def _strided_copy(self: Any, size: Any, stride: Any, offset: int) -> Any:
    return np.array(strided(np.ascontiguousarray(self), tuple(size), tuple(stride), offset))


def _strided_copy_back(g: Any, self_sizes: Any, size: Any, stride: Any, offset: int) -> Any:
    return F._strided_spread(g, tuple(self_sizes), size, stride, offset)


def _strided_spread(g: Any, sizes: Any, size: Any, stride: Any, offset: int) -> Any:
    places = np.array(strided(np.arange(int(np.prod(sizes))), tuple(size), tuple(stride), offset))
    out = np.zeros(int(np.prod(sizes)), g.dtype)
    np.add.at(out, places.reshape(-1), g.reshape(-1))
    return out.reshape(sizes)


linear(
    "_as_strided_scatter", _as_strided_scatter, node="AsStridedScatterBackward0",
    self=lambda g, size, stride, offset: F._as_strided_scatter(
        g, F.zeros_like(F._strided_copy(g, size, stride, offset)), size, stride, offset),
    src=lambda g, size, stride, offset: F._strided_copy(g, size, stride, offset),
)  # fmt: skip
linear("_strided_copy", _strided_copy, self=_strided_copy_back)
linear("_strided_spread", _strided_spread, tensors="g",
       g=lambda g, size, stride, offset: F._strided_copy(g, size, stride, offset))  # fmt: skip


# -- blocks


def _block_diag(tensors: Any) -> Any:
    """Matrices along the diagonal of one matrix, zeros elsewhere; vectors and numbers are rows."""
    blocks = [a.reshape(1, -1) if a.ndim < 2 else a for a in tensors]
    for i, a in enumerate(blocks):
        if a.ndim != 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {a.ndim} dimensions"
            )
    out = np.zeros((sum(a.shape[0] for a in blocks), sum(a.shape[1] for a in blocks)), np.result_type(*blocks))
    row = column = 0
    for a in blocks:
        out[row : row + a.shape[0], column : column + a.shape[1]] = a
        row, column = row + a.shape[0], column + a.shape[1]
    return out


def _block_diag_back(g: Any, tensors_sizes: Any) -> Any:
    pieces = []
    row = column = 0
    for sizes in tensors_sizes:
        height, width = sizes if len(sizes) == 2 else (1, int(np.prod(sizes)))
        piece = F._slice(F._slice(g, 0, row, row + height), 1, column, column + width)
        pieces.append(F.reshape(piece, tuple(sizes)))
        row, column = row + height, column + width
    return pieces


listwise("_block_diag", _block_diag, _block_diag_back, node="BlockDiagBackward0", promote="common")
