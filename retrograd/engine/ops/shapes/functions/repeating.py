"""Elements or whole tensors several times over."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse_kind
from ....table.public import public
from ....table.registry import F
from ....tensors.base import TensorBase, wrap
from ....tensors.convert import checked_dim
from ....tensors.layouts import contiguous_format
from .sizes import ints_of


@public("repeat", function=False)
def repeat(self: Any, *repeats: Any) -> Any:
    """The tensor repeated along each dimension."""
    counts = ints_of(repeats)
    if any(n < 0 for n in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(counts)}: repeats are {counts}")
    return F.repeat(self, counts)


@public("tile")
def tile(input: Any, *dims: Any) -> Any:  # noqa: A002
    """The tensor repeated; missing leading repeats count as 1."""
    repeats = ints_of(dims)
    return F.repeat(input, (1,) * (input.ndim - len(repeats)) + repeats)


@public("repeat_interleave")
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: Any = None, *, output_size: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Each element repeated, along ``dim`` or flat; ``repeats`` is a number or a tensor of counts."""
    found = _repeated(input, repeats, dim)
    axis = 0 if dim is None or not found.ndim else dim
    if output_size is not None and output_size != found.shape[axis]:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {found.shape[axis]} but got {output_size}: allocated "
            "size does not match required size"
        )
    return found


def _repeated(input: Any, repeats: Any, dim: Any) -> Any:  # noqa: A002
    """Elements repeated one by one; ``repeats`` alone gives the indices that do it."""
    if repeats is None or input is None:
        counts = (repeats if input is None else input)._array
        return wrap(np.repeat(np.arange(counts.size), counts))
    if isinstance(repeats, (list, tuple)):
        repeats = wrap(np.asarray(repeats, np.int64))
    if dim is None:
        input, dim = input.reshape(-1) if input.ndim != 1 else input, 0  # noqa: A001
    axis = checked_dim(dim, input.ndim)
    if isinstance(repeats, TensorBase):
        refuse_kind("repeat_interleave_cpu", repeats._sig.numpy, "iu")
        if repeats.ndim > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        if (repeats._array < 0).any():
            raise RuntimeError("repeats can not be negative")
    if isinstance(repeats, TensorBase) and (input.ndim or repeats.numel() != 1):
        counts = repeats._array
        return _repeat_each(input, np.repeat(counts, input.shape[axis]) if counts.size == 1 else counts, axis)
    count = int(repeats.item() if isinstance(repeats, TensorBase) else repeats)
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    if not input.ndim:
        return F.expand(input, (count,)).clone()
    shape = tuple(input.shape)
    wide = F.expand(F.unsqueeze(input, axis + 1), (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return F._view(F.clone(wide, contiguous_format), (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _repeat_each(input: Any, counts: Any, axis: int) -> Any:  # noqa: A002
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size != input.shape[axis]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({axis}) = {input.shape[axis]}"
        )
    return F.index_select(input, axis, wrap(np.repeat(np.arange(counts.size), counts)))
