"""Shapes, and their expansion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import COMPOSITES, F
from ...execution.fit import sum_tensor_to, sum_to
from ...table.rows import linear
from ..reductions.reduce import axes_of

# Expanding dimensions of size one, and summing expanded ones.


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
    return _writeable_broadcast(self, _expanded_size(self.shape, size))


def _expanded_size(shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """``size`` with -1 worked out; ``RuntimeError`` where ``shape`` does not grow to it."""
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(shape)})"
        )
    full = []
    for i, (n, have) in enumerate(zip(size, (*[None] * lead, *shape), strict=True)):
        if n == -1 and have is not None:
            n = have
        if n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
            )
        if have not in (None, 1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
        full.append(n)
    return tuple(full)


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


def _expand_grad(g: Any, self_sizes: Any) -> Any:
    if isinstance(g, (np.ndarray, np.generic)):  # (arithmetic on arrays of no dimension gives NumPy's numbers)
        return g if g.shape == self_sizes else F.sum_to_size(g, tuple(self_sizes))
    return sum_tensor_to(g, tuple(self_sizes))


COMPOSITES["sum_to_size"] = sum_tensor_to
linear("expand", expanded, view=True, public=False, self=_expand_grad)
linear(
    "sum_to_size", lambda self, size: sum_to(counted(self), tuple(size)), node="SumBackward1", public=False,
    self=lambda g, self_sizes: F.expand(g, tuple(self_sizes)),
)  # fmt: skip


# The same elements in another shape or order of dimensions.

# -- reshaping


def checked_size(size: Any, numel: int) -> tuple[int, ...]:
    """A target shape with -1 worked out; ``RuntimeError`` when it does not hold ``numel`` elements."""
    wanted: tuple[int, ...] = tuple(map(int, size))
    if -1 in wanted:
        if wanted.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        known = -math.prod(wanted)
        if known == 0 and not numel:
            raise RuntimeError(
                f"cannot reshape tensor of {numel} elements into shape {list(wanted)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
            )
        if not known or numel % known:
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
linear("_fw_primal", lambda self: self.view(), node="Identity", view=True, public=False, self=lambda g: g)
linear("_make_dual", lambda self: self.view(), node="ViewBackward0", view=True, public=False, self=lambda g: g)
linear("_reshape_alias", _view, node="ReshapeAliasBackward0", view=True, self=_reshape_grad)
linear(
    "_unsafe_view", lambda self, size: self.reshape(size), as_given=True, node="UnsafeViewBackward0", self=_reshape_grad
)
linear(
    "reshape",
    lambda self, size: self.reshape(size),
    as_given=True,
    node="ReshapeBackward0",
    public=False,
    self=_reshape_grad,
)


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


linear("_permute", _permute, node="PermuteBackward0", view=True, reorders=True, self=_permute_grad)


def _transpose(self: Any, dim0: int, dim1: int) -> Any:
    """A view with two dimensions exchanged."""
    if dim0.__class__ is int is dim1.__class__:
        try:
            return self.swapaxes(dim0, dim1)
        except ValueError:
            pass  # said below, and one dimension of numbers without any is allowed
    a, b = axes_of(dim0, self.ndim), axes_of(dim1, self.ndim)
    return self.swapaxes(a[0], b[0]) if self.ndim else self.view()


linear(
    "transpose", _transpose, view=True, reorders=True,
    self=lambda g, dim0, dim1: (_transpose if g.__class__ is np.ndarray else F.transpose)(g, dim0, dim1),
)  # fmt: skip


def _t(self: Any) -> Any:
    """The transpose of a matrix, a view; vectors and scalars themselves."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


linear(
    "t", _t, node="TBackward0", view=True, reorders=True, self=lambda g: g.T if g.__class__ is np.ndarray else F.t(g)
)


# -- dimensions of size one


def _unsqueeze(self: Any, dim: int) -> Any:
    """A view with a dimension of size 1 inserted at ``dim``."""
    axis = axes_of(dim, self.ndim + 1)[0]
    if axis == self.ndim and not self.flags.c_contiguous:  # where NumPy and PyTorch choose other strides
        return np.lib.stride_tricks.as_strided(self, (*self.shape, 1), (*self.strides, self.itemsize))
    return np.expand_dims(self, axis)


linear("unsqueeze", _unsqueeze, view=True, self=lambda g, dim: F._squeeze_dim(g, dim))


def _unsqueeze_to(g: Any, sizes: Any, axes: Any) -> Any:
    """The gradient with the dimensions of size 1 that squeezing some axes took away."""
    if g.__class__ is np.ndarray:
        return g if g.shape == sizes else g.reshape(sizes)
    for axis in axes:
        if sizes[axis] == 1:
            g = F.unsqueeze(g, axis)
    return g


linear("_squeeze", lambda self: self.squeeze()[...], node="SqueezeBackward0", view=True,
       self=lambda g, self_sizes: _unsqueeze_to(g, self_sizes, range(len(self_sizes))))  # fmt: skip


def _squeeze_dim(self: Any, dim: Any) -> Any:
    if dim.__class__ in (tuple, list) and not dim:  # none of them, unlike in reductions
        return self.view()
    axes = tuple(a for a in axes_of(dim, self.ndim) if self.ndim and self.shape[a] == 1)
    return np.squeeze(self, axes)[...] if axes else self.view()


def _squeeze_grad(g: Any, self_sizes: Any, dim: Any) -> Any:
    none = dim.__class__ in (tuple, list) and not dim
    axes = () if none or not self_sizes else sorted(axes_of(dim, len(self_sizes)))
    return _unsqueeze_to(g, self_sizes, axes)


linear("_squeeze_dim", _squeeze_dim, node="SqueezeBackward1", view=True, self=_squeeze_grad)
linear("_squeeze_dims", _squeeze_dim, node="SqueezeBackward2", view=True, self=_squeeze_grad)
