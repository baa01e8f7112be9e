"""Expanding dimensions of size one, and summing expanded ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...execution.fit import sum_tensor_to, sum_to
from ...table.registry import COMPOSITES, F
from ...table.rows import linear


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
