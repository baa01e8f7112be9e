"""Metadata of tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...aliasing.memory_formats import fastest_first, lies_in, settles
from ...aliasing.strided import address, element_strides
from ...aliasing.strided import storage_offset as offset_of
from ...calls.refusals import refuse
from ...core import dtypes
from ...core.absent import AbsentMemory
from ...core.batches import skipped_elements
from ...core.bits import memory_of
from ...core.layouts import channels_last, channels_last_3d, memory_format
from ...nodes.hooks import tensor_type_name
from ...table.public import METHODS, property_, public
from ...tensors import convert

# `Tensor.dim_order`: the order of dimensions in memory, and whether it is unique.

_SLOWEST_FIRST = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
_SEVERAL = "The tensor does not have unique dim order"


@public(function=False)
def dim_order(self: Any, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
    """The dimensions from the widest to the narrowest stride."""
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    order, unique = _order_of(self._array)
    if ambiguity_check is not False:
        strides = self.stride()
        open_ = 1 in self.shape or any(a == b for a, b in itertools.pairwise(strides))
        fitting = sum(lies_in(self._array, wanted) for wanted in formats)
        refuse(open_ and fitting != 1, f"{_SEVERAL}, or cannot map to exact one of the given memory formats.")
        refuse(not unique, f"{_SEVERAL}.")
    return tuple(order)


def _order_of(array: Any) -> tuple[Sequence[int], bool]:
    """The order of an array's dimensions, and whether its strides leave no other."""
    rows = bool(array.flags.c_contiguous)
    last = next((wanted for wanted in _SLOWEST_FIRST if lies_in(array, wanted)), None)
    if rows and last is None:
        return range(array.ndim), True
    if last is not None and not rows:
        return _SLOWEST_FIRST[last], True
    strides = element_strides(array)
    order = fastest_first(array.shape, [strides])
    return order[::-1], settles(array.shape, strides, order)


# Shape, strides, type and device of a tensor.


@public(function=False)
def dim(self: Any) -> int:
    """Number of dimensions."""
    return len(self._sig.shape)


@public(function=False)
def size(self: Any, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    return self._sig.shape if dim is None else self._sig.shape[convert.checked_dim(dim, self.ndim)]


@public()
def numel(input: Any) -> int:  # noqa: A002
    """Number of elements."""
    return int(input._sig.shape.numel())


METHODS["nelement"] = numel


@public(function=False)
def stride(self: Any, dim: int | None = None) -> Any:
    """Strides in elements."""
    strides = element_strides(memory_of(self))
    return strides if dim is None else strides[convert.checked_dim(dim, len(strides))]


@public(function=False)
def storage_offset(self: Any) -> int:
    """Offset of the first element in the storage, in elements."""
    return offset_of(self) - skipped_elements(self)


@public(function=False)
def data_ptr(self: Any) -> int:
    """Address of the first element."""
    array = memory_of(self)
    if not array.size:
        return 0
    return array.offset * array.itemsize if array.__class__ is AbsentMemory else address(array)


@public(function=False)
def element_size(self: Any) -> int:
    """Bytes per element."""
    return int(self._array.itemsize)


property_("itemsize")(element_size)


@property_("nbytes")
def nbytes(self: Any) -> int:
    """Bytes of all elements."""
    return int(self._array.nbytes)


@public()
def is_floating_point(input: Any) -> bool:  # noqa: A002
    """Whether the dtype is a real floating one."""
    return bool(input._sig.kind == "f")


@public()
def is_complex(input: Any) -> bool:  # noqa: A002
    """Whether the dtype is complex."""
    return bool(input._sig.kind == "c")


@public(function=False)
def get_device(self: Any) -> int:
    """-1: the CPU."""
    return -1


@public("type", function=False)
def type_(self: Any, dtype: Any = None) -> Any:
    """The old type string, or a conversion."""
    if dtype is None:
        name = tensor_type_name(self._sig)
        return name.replace("torch.", "torch.meta.", 1) if self.is_meta else name
    try:
        wanted = dtypes.dtype_of_type(dtype)
    except KeyError:
        raise ValueError(f"invalid type: '{dtype}'") from None
    return self.to(wanted)


@public("ndimension", function=False)
def ndimension(self: Any) -> int:
    """Number of dimensions."""
    return len(self.shape)
