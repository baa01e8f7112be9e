"""Views and shapes."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from ..aliasing.strided import Geometry, as_strided_backward, strided
from ..execution.fit import sum_to
from ..table.registry import F
from ..table.rows import linear, listwise
from .reduce import axes_of

# -- broadcasting


def expanded(self: Any, size: tuple[int, ...]) -> Any:
    """The array broadcast to ``size``, where -1 keeps a dimension; a view."""
    if self.shape == size:
        return self[...]
    if not self.ndim and self.flags.carray and min(size) >= 0:  # the gradient of a sum
        return np.ndarray(size, self.dtype, self, 0, (0,) * len(size))
    if len(size) == self.ndim and self.flags.carray and self.size:  # that of a sum that keeps dimensions (4 of 7 µs)
        strides = _grown_strides(self, size)
        if strides is not None:
            return np.ndarray(size, self.dtype, self, 0, strides)
    lead = len(size) - self.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            "dimensions in "
            f"the tensor ({self.ndim})"
        )
    full = []
    for i, n in enumerate(size):
        have = self.shape[i - lead] if i >= lead else 1
        if n == -1 and i >= lead:
            n = have
        if n < 0:
            raise RuntimeError(f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing "
                               f"dimension {i}")  # fmt: skip
        if i >= lead and have not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton "
                "dimension "
                f"{i}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
        full.append(n)
    return _writeable_broadcast(self, tuple(full))


def _grown_strides(a: Any, size: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of ``a`` where sizes of 1 grow to those given; ``None`` where there is more to say."""
    strides = []
    for n, have, stride in zip(size, a.shape, a.strides, strict=True):
        if n != have and (have != 1 or n < 0):
            return None
        strides.append(stride if n == have else 0)
    return tuple(strides)


def _writeable_broadcast(a: Any, shape: tuple[int, ...]) -> Any:
    """``np.broadcast_to`` without the read-only flag (overlapping writes are refused elsewhere).

    As in torch only a size that grows gets stride 0; a size that stays 1 keeps its stride.
    """
    strides = [0] * len(shape)
    lead = len(shape) - a.ndim
    below = a.itemsize if a.ndim else 0
    for i in reversed(range(len(shape))):
        size, stride = (a.shape[i - lead], a.strides[i - lead]) if i >= lead else (1, below)
        strides[i] = stride if size == shape[i] else 0
        below = shape[i] * strides[i]
    if a.flags.carray and a.size:  # the same window, in a sixth of the time
        return np.ndarray(shape, a.dtype, a, 0, tuple(strides))
    return np.lib.stride_tricks.as_strided(a, shape, strides)


def counted(a: Any) -> Any:
    """Whole numbers and truth values as those that sums of them are."""
    return a.astype(np.int64) if a.dtype.kind in "iub" else a


# Rules compute bare arrays themselves where that is one call of NumPy: to go through rows takes two calls more, 3 µs
# after large arrays, and a transformer block has 30 of these nodes.
def _expand_grad(g: Any, self_sizes: Any) -> Any:
    if g.__class__ is np.ndarray and g.shape == self_sizes:
        return g
    return F.sum_to_size(g, tuple(self_sizes))


linear("expand", expanded, view=True, public=False, self=_expand_grad)
linear(
    "sum_to_size", lambda self, size: sum_to(counted(self), tuple(size)), node="SumBackward1", public=False,
    self=lambda g, self_sizes: F.expand(g, tuple(self_sizes)),
)  # fmt: skip


# -- reshaping


def checked_size(size: Any, numel: int) -> tuple[int, ...]:
    """A target shape with -1 worked out; ``RuntimeError`` when it does not hold ``numel`` elements."""
    wanted: tuple[int, ...] = tuple(map(int, size))
    if -1 in wanted:
        if wanted.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        known = -math.prod(wanted)
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {numel} elements into shape {list(wanted)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
            )
        if numel % known:
            raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {numel}")
        return tuple([numel // known if s == -1 else s for s in wanted])
    if math.prod(wanted) != numel:
        raise RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {numel}")
    return wanted


def can_view(a: Any, size: tuple[int, ...]) -> bool:
    """Whether an array can take a shape without copying."""
    if not a.size:
        return True
    try:
        a.reshape(size, copy=False)
    except ValueError:
        return False
    return True


def _view(self: Any, size: Any) -> Any:
    """The same memory in another shape; ``RuntimeError`` where strides forbid it."""
    if size.__class__ is tuple and -1 not in size and self.flags.c_contiguous:
        try:
            return self.reshape(size)  # a third of the time
        except (ValueError, TypeError):
            pass  # said below
    shape = checked_size(size, self.size)
    try:
        return self.reshape(shape, copy=False)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


def _reshape_grad(g: Any, self_sizes: Any) -> Any:
    return g.reshape(self_sizes) if g.__class__ is np.ndarray else F.reshape(g, tuple(self_sizes))


linear("_view", _view, node="ViewBackward0", view=True, self=_reshape_grad)
linear("alias", lambda self: self.view(), node="AliasBackward0", view=True, public=False, self=lambda g: g)
linear("_fw_primal", lambda self: self.view(), node="ViewBackward0", view=True, public=False, self=lambda g: g)
linear("_reshape_alias", _view, node="ReshapeAliasBackward0", view=True, self=_reshape_grad)
linear("_unsafe_view", lambda self, size: self.reshape(size), node="UnsafeViewBackward0", self=_reshape_grad)
linear("reshape", lambda self, size: self.reshape(size), node="ReshapeBackward0", public=False, self=_reshape_grad)


def _permute(self: Any, dims: tuple[int, ...]) -> Any:
    try:
        return self.transpose(dims)
    except ValueError:
        pass  # said below
    if len(dims) != self.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
    if len({d % self.ndim for d in dims}) != len(dims) and all(-self.ndim <= d < self.ndim for d in dims):
        raise RuntimeError(f"permute(): duplicate dims are not allowed, but dims are {tuple(dims)}.")
    return self.transpose(axes_of(dims, self.ndim) if dims else ())


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    places = [0] * len(dims)
    for i, d in enumerate(dims):
        places[d] = i
    return tuple(places)


def _permute_grad(g: Any, dims: Any) -> Any:
    back = _inverse(dims)
    return g.transpose(back) if g.__class__ is np.ndarray else F._permute(g, back)


linear("_permute", _permute, node="PermuteBackward0", view=True, self=_permute_grad)


def _transpose(self: Any, dim0: int, dim1: int) -> Any:
    if dim0.__class__ is int is dim1.__class__:
        try:
            return self.swapaxes(dim0, dim1)
        except ValueError:
            pass  # said below, and one dimension of numbers without any is allowed
    a, b = axes_of(dim0, self.ndim), axes_of(dim1, self.ndim)
    return self.swapaxes(a[0], b[0]) if self.ndim else self.view()


linear(
    "transpose", _transpose, view=True,
    self=lambda g, dim0, dim1: (_transpose if g.__class__ is np.ndarray else F.transpose)(g, dim0, dim1),
)  # fmt: skip


def _t(self: Any) -> Any:
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


linear("t", _t, node="TBackward0", view=True, self=lambda g: g.T if g.__class__ is np.ndarray else F.t(g))


# -- dimensions of size one


def _unsqueeze(self: Any, dim: int) -> Any:
    axis = axes_of(dim, self.ndim + 1)[0]
    if axis == self.ndim and not self.flags.c_contiguous:  # where NumPy and PyTorch choose other strides
        return np.lib.stride_tricks.as_strided(self, (*self.shape, 1), (*self.strides, self.itemsize))
    return np.expand_dims(self, axis)


linear("unsqueeze", _unsqueeze, view=True, self=lambda g, dim: F._squeeze_dim(g, dim))
linear("_squeeze", lambda self: self.squeeze()[...], node="SqueezeBackward0", view=True,
       self=lambda g, self_sizes: F.reshape(g, tuple(self_sizes)))  # fmt: skip


def _squeeze_dim(self: Any, dim: Any) -> Any:
    if dim.__class__ in (tuple, list) and not dim:  # none of them, unlike in reductions
        return self.view()
    axes = tuple(a for a in axes_of(dim, self.ndim) if self.ndim and self.shape[a] == 1)
    return np.squeeze(self, axes)[...] if axes else self.view()


linear("_squeeze_dim", _squeeze_dim, node="SqueezeBackward1", view=True,
       self=lambda g, self_sizes, dim: F.reshape(g, tuple(self_sizes)))  # fmt: skip
linear("_squeeze_dims", _squeeze_dim, node="SqueezeBackward2", view=True,
       self=lambda g, self_sizes, dim: F.reshape(g, tuple(self_sizes)))  # fmt: skip


# -- windows on memory


def selected(self: Any, dim: int, index: int) -> Any:
    """One slice along a dimension, without that dimension; a view."""
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
    axes_of((dim1, dim2), self.ndim)
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
    "diagonal", diagonal_of, view=True,
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


linear("as_strided", _as_strided_window, node="AsStridedBackward0", view=True, public=False, self=_as_strided_grad)
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

# -- several views at once


def _unbind(self: Any, dim: int = 0) -> Any:
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axis = axes_of(dim, self.ndim)[0]
    if axis == 0 and self.ndim > 1:
        return tuple(self)  # the same views, in a third of the time
    return tuple(self[(slice(None),) * axis + (i, Ellipsis)] for i in range(self.shape[axis]))


linear("unbind", _unbind, view=True, outputs="many", self=lambda g, dim: F.stack(list(g), dim))


def split_points(n: int, sizes: Any, axis: int) -> list[int]:
    """Where pieces of the given size(s) begin, and the end."""
    if isinstance(sizes, int):
        if sizes <= 0 and n:
            raise RuntimeError(f"split expects split_size be positive, but got split_size={sizes}")
        return [*range(0, max(n, 1), max(sizes, 1)), n]
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {axis}), "
            f"but got split_sizes={list(sizes)}"
        )
    return [0, *(int(s) for s in np.cumsum(sizes))]


def _split(self: Any, split_size: Any, dim: int = 0) -> Any:
    axis = axes_of(dim, self.ndim)[0]
    sizes = split_size if split_size.__class__ is int else tuple(split_size)
    return tuple([self[index] for index in _pieces(self.shape[axis], sizes, axis)])


@functools.lru_cache(256)
def _pieces(n: int, sizes: Any, axis: int) -> list[tuple[slice, ...]]:
    """The indices of pieces along an axis of size ``n``; programs split in few ways (2 µs less for each)."""
    return [(*(slice(None),) * axis, slice(a, b)) for a, b in itertools.pairwise(split_points(n, sizes, axis))]


def _joined(g: Any, dim: int, self_sizes: Any, split_size: Any) -> Any:
    if g[0].__class__ is np.ndarray:
        return np.concatenate(g, dim)  # pieces of one array fit: ``cat`` need not ask (4 µs)
    return F.cat(list(g), dim)


linear("_split", _split, node="SplitBackward0", view=True, outputs="many", self=_joined)
linear("_split_with_sizes", _split, node="SplitWithSizesBackward0", view=True, outputs="many", self=_joined)

for _name in ("split", "split_with_sizes"):
    linear(f"_unsafe_{_name}", _split, outputs="many", self=_joined)

# -- joining


def _cat_back(g: Any, tensors_sizes: Any, dim: int) -> Any:
    pieces, at = [], 0
    for sizes in tensors_sizes:
        if tuple(sizes) == (0,):
            pieces.append(F._slice(g, 0, 0, 0) if len(g.shape) == 1 else None)
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


listwise("cat", _cat, _cat_back, promote="common", layout="format")


def _stack(tensors: Any, dim: int = 0) -> Any:
    """Join tensors along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    for i, a in enumerate(tensors):
        if a.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(a.shape)} at entry {i}"
            )
    axis = axes_of(dim, len(shape) + 1)[0]
    if axis == 0 and shape:  # the same without an array for each of the tensors
        return np.concatenate(tensors).reshape(len(tensors), *shape)
    return np.stack(tensors, axis=axis)


listwise("stack", _stack, lambda g, dim: list(F.unbind(g, dim)), promote="common", layout="rows")
