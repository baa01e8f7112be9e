"""The same elements in another shape: ``view``, ``reshape``, ``flatten`` and ``unflatten``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....table.public import check_tensor, public
from ....table.registry import COMPOSITES, F
from ....tensors.argument_checks import type_name_of
from ....tensors.bits import memory_of
from ....tensors.convert import checked_dim
from ....tensors.dtypes import dtype as dtype_class
from ....tensors.layouts import contiguous_format
from ....tensors.size import Size
from ..shape import can_view, checked_size
from .contiguous import contiguous
from .reinterpreting import seen_as
from .sizes import ints_of


@public("view", function=False)
def view(self: Any, *size: Any, dtype: Any = None) -> Any:
    """The same data in another shape, without copying; ``RuntimeError`` when strides forbid it.

    With a dtype instead of sizes the same bytes as numbers of that type, without history.
    """
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dtype_class)):
        return seen_as(self, (size[0] if dtype is None else dtype).numpy)
    if not size or isinstance(size[0], (str, float)):
        given = ", ".join([type_name_of(s) for s in size])
        raise TypeError(
            f"view() received an invalid combination of arguments - got ({given}), but expected a dtype or sizes"
        )
    return F._view(self, ints_of(size))


@public("view_as", function=False)
def view_as(self: Any, other: Any) -> Any:
    """``self.view(other.size())``."""
    return F._view(self, tuple(other.shape))


@public("reshape")
def reshape(input: Any, *shape: Any) -> Any:  # noqa: A002
    """The same data in another shape, as a view when possible."""
    check_tensor("reshape", input)
    return reshaped(input, checked_size(ints_of(shape), input._array.size))


def reshaped(input: Any, size: tuple[int, ...]) -> Any:  # noqa: A002
    """A tensor in a shape that holds its elements."""
    array = memory_of(input)
    if array.__class__ is not np.ndarray and input.is_sparse:  # the dispatcher has no name for it
        raise RuntimeError("reshape is not implemented for sparse tensors")
    if array.flags.c_contiguous:
        return F._view(input, size)
    if can_view(array, size):
        return F._reshape_alias(input, size)
    return F._unsafe_view(F.clone(input, contiguous_format), size)


COMPOSITES["reshape"] = reshape


@public("reshape_as", function=False)
def reshape_as(self: Any, other: Any) -> Any:
    """``self.reshape(other.size())``."""
    return reshape(self, tuple(other.shape))


@public("flatten")
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:  # noqa: A002
    """Dimensions ``start_dim`` to ``end_dim`` joined into one."""
    check_tensor("flatten", input)
    start, end = checked_dim(start_dim, input.ndim), checked_dim(end_dim, input.ndim)
    if input.ndim == 0:
        return reshape(input, (1,))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    shape = tuple(input.shape)
    return reshape(input, (*shape[:start], Size(shape[start : end + 1]).numel(), *shape[end + 1 :]))


@public("ravel")
def ravel(input: Any) -> Any:  # noqa: A002
    """All elements in one dimension."""
    return F._view(contiguous(input), (-1,))


@public("unflatten")
def unflatten(input: Any, dim: int, sizes: Any) -> Any:  # noqa: A002
    """One dimension divided into several."""
    axis = checked_dim(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError(f"unflatten got an unexpected error: dim {dim} of a tensor that has no dimensions")
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = tuple(input.shape)
    known = math.prod(sizes)
    if known != shape[axis] if -1 not in sizes else not known or shape[axis] % known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} ({shape[axis]}) in "
            "the input tensor"
        )
    return F._view(input, (*shape[:axis], *checked_size(sizes, shape[axis]), *shape[axis + 1 :]))
