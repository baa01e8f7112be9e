"""The same elements in another shape or type: views, reshapes, squeezes, contiguous forms, in place or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.memory_formats import check_memory_format, lies_in
from ....aliasing.strided import Geometry, element_strides, root_array
from ....aliasing.strided import storage_offset as offset_of
from ....aliasing.versions import share_storage, storage_of
from ....aliasing.views import gradient_edge, requires_grad
from ....aliasing.write_rules import check_inplace
from ....calls.history import set_history
from ....calls.inplace import bump_version
from ....calls.refusals import refuse
from ....core.argument_checks import type_name_of
from ....core.base import TensorBase, set_array, wrap
from ....core.batches import mark_alias
from ....core.bits import bits_of, mark, memory_of
from ....core.dtypes import dtype as dtype_class
from ....core.dtypes import scalar_name
from ....core.layouts import contiguous_format, preserve_format
from ....core.registry import COMPOSITES, OPS, F
from ....core.size import Size
from ....forward_mode.forward_ad import keep_tangent, tangent_of
from ....switches.transforming import write_in_transform
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim
from ..shape import can_view, checked_size
from .windows import checked_window

# Parses sizes and dimensions as PyTorch's methods accept them: one by one, or as one list.


def ints_of(values: tuple[Any, ...]) -> tuple[int, ...]:
    """``(0, 1)`` or ``((0, 1),)`` as a tuple of ints."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = tuple(values[0])
    if any(isinstance(value, str) for value in values):
        at = next(i for i, value in enumerate(values) if isinstance(value, str))
        raise TypeError(f"sizes failed to unpack the object at pos {at + 1}: type must be tuple of ints,but got str")
    return tuple(map(int, values))


# Checks the arguments of functions that take tensors one by one but not as a list.


def tensors_of(tensors: tuple[Any, ...]) -> list[Any]:
    """The arguments of a function that takes tensors, but no list of them."""
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return list(tensors)


# `contiguous` and `is_contiguous`: a tensor in a memory format.


@public(function=False)
def is_contiguous(self: Any, *, memory_format: Any = None) -> bool:
    """Whether elements lie in a memory format (by default row by row) without gaps."""
    if memory_format is None:
        return bool(memory_of(self).flags.c_contiguous)
    check_memory_format("is_contiguous", memory_format)
    return lies_in(memory_of(self), memory_format)


@public("contiguous", function=False)
def contiguous(self: Any, *, memory_format: Any = None) -> Any:
    """In a memory format, by default row by row; the tensor itself when it is so already."""
    check_memory_format("contiguous", memory_format)
    if lies_in(memory_of(self), memory_format):
        return self
    if memory_format == preserve_format:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator: use clone(), or contiguous() for rows"
        )
    return F.clone(self, contiguous_format if memory_format is None else memory_format)


COMPOSITES["_dense"] = contiguous


# `view(dtype)`: the same memory read as numbers of another type.


def seen_as(self: Any, numpy: Any) -> Any:
    """A tensor without history on the same memory; its last dimension shrinks or grows with the size of elements."""
    have = self._sig.numpy
    array = self._array
    if numpy.itemsize != have.itemsize:
        what = f"to view {scalar_name(have)} as {scalar_name(numpy)} (different element sizes)"
        refuse(not array.ndim, f"self.dim() cannot be 0 {what}")
        stride = element_strides(array)[-1]
        refuse(stride != 1 and array.size > 1, f"self.stride(-1) must be 1 {what}, but got {stride}")
        ratio, rest = divmod(numpy.itemsize, have.itemsize)
        size = array.shape[-1]
        refuse(ratio > 0 and bool(size % ratio), f"self.size(-1) must be divisible by {ratio} {what}, but got {size}")
        assert not rest or not ratio
    if self._is_view():
        root_array(self)  # where the memory begins, which the alias does not show
    alias = self.reinterpreted(numpy) if self.is_meta else wrap(array.view(numpy))
    share_storage(alias, self)
    mark_alias(alias, self)
    return alias


# `squeeze`: without dimensions of size one.


@public("squeeze")
def squeeze(input: Any, *dim: Any) -> Any:  # noqa: A002
    """Without dimensions of size one (all of them, or those given)."""
    check_tensor("squeeze", input)
    return OPS[squeeze_row(dim)](input, *squeeze_arguments(dim))


def squeeze_row(dim: tuple[Any, ...]) -> str:
    """Torch has three squeezes: of all dimensions, of one, of several."""
    if not dim:
        return "_squeeze"
    return "_squeeze_dim" if len(dim) == 1 and isinstance(dim[0], int) else "_squeeze_dims"


def squeeze_arguments(dim: tuple[Any, ...]) -> tuple[Any, ...]:
    """The argument of that row: several dimensions are given one by one or as one list."""
    return dim if len(dim) < 2 else (dim,)


# The same elements in another shape: `view`, `reshape`, `flatten` and `unflatten`.


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


# In-place changes of shape: the tensor becomes one of its own views, in memory and in the graph.

_IN_PLACE = {
    name: OPS[name].with_node(node)
    for name, node in {
        "t": "TBackward1",
        "transpose": "TransposeBackward1",
        "unsqueeze": "UnsqueezeBackward1",
        "_squeeze": "SqueezeBackward3",
        "_squeeze_dim": "SqueezeBackward4",
        "_squeeze_dims": "SqueezeBackward5",
        "as_strided": "AsStridedBackward1",
    }.items()
}


def _reshape_in_place(self: Any, row: str, *args: Any) -> Any:
    """Give a tensor the shape of one of its views, and that view's place in the graph."""
    op = _IN_PLACE[row]
    write_in_transform(self, op.name.strip("_") + "_")
    check_inplace(self, requires_grad(self))
    view = self._meta.view if self._meta is not None else None
    edge = gradient_edge(self)
    made = op(self, *args)
    array, bits = memory_of(made), bits_of(made)
    new_edge = gradient_edge(made) if edge is not None else None
    tangent = tangent_of(made)
    if tangent is not None:
        keep_tangent(self, tangent)
    set_array(self, array)
    mark(self, bits)
    bump_version(self)
    if view is not None:
        version = view.version if new_edge is None else storage_of(self).version
        before, view = view, made._meta.view
        self._meta.view = view
        view.fn, view.version = before.fn if new_edge is None else new_edge, version
        view.tag = before.tag  # it stays what it was made as, whatever mode it is turned in
    elif new_edge is not None:
        set_history(self, new_edge)
    return self


@public("transpose_", function=False)
def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """In-place transpose."""
    return _reshape_in_place(self, "transpose", dim0, dim1)


@public("swapaxes_", function=False)
def swapaxes_(self: Any, axis0: int, axis1: int) -> Any:
    """``transpose_`` under NumPy's name."""
    return transpose_(self, axis0, axis1)


public("swapdims_", function=False)(transpose_)


@public("t_", function=False)
def t_(self: Any) -> Any:
    """In-place matrix transpose."""
    return _reshape_in_place(self, "t")


@public("squeeze_", function=False)
def squeeze_(self: Any, *dim: Any) -> Any:
    """In-place squeeze."""
    return _reshape_in_place(self, squeeze_row(dim), *squeeze_arguments(dim))


@public("unsqueeze_", function=False)
def unsqueeze_(self: Any, dim: int) -> Any:
    """In-place unsqueeze."""
    return _reshape_in_place(self, "unsqueeze", dim)


@public("as_strided_")
def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """In-place as_strided."""
    offset = checked_window(self, tuple(size), tuple(stride), storage_offset)
    geometry = Geometry.of(self._array, offset_of(self))
    return _reshape_in_place(self, "as_strided", tuple(size), tuple(stride), offset, geometry)
