"""Memory formats: the order of elements in memory, and the strides of copies and new tensors.

Strides count elements.  The rules are PyTorch's: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.memory_format
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.argument_checks import type_name_of
from ..core.base import Array
from ..core.layouts import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format
from .strided import contiguous_strides, element_strides, is_dense

Strides = tuple[int, ...]
_CHANNELS_LAST = {channels_last: (1, 3, 2, 0), channels_last_3d: (1, 4, 3, 2, 0)}
"""The dimensions of images and volumes with channels last, from the fastest to the slowest."""


def check_memory_format(function: str, given: Any) -> None:
    """``TypeError`` in torch's words for what is not a memory format."""
    if given is not None and not isinstance(given, memory_format):
        raise TypeError(
            f"{function}(): argument 'memory_format' must be torch.memory_format, not {type_name_of(given)}"
        )


def strides_in(shape: Sequence[int], wanted: memory_format) -> Strides:
    """Strides of a tensor without gaps in a format; ``RuntimeError`` where it asks for another number of dimensions."""
    if wanted == contiguous_format:
        return contiguous_strides(tuple(shape))
    order = _CHANNELS_LAST[wanted]
    if len(shape) != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {str(wanted).removeprefix('torch.')} format")
    strides, step = [0] * len(order), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def lies_in(array: Array, wanted: memory_format | None) -> bool:
    """Whether the elements lie in a format, without gaps."""
    if wanted not in _CHANNELS_LAST:
        return array.flags.c_contiguous
    order = _CHANNELS_LAST[wanted]
    if array.ndim != len(order):
        return False
    strides, step = element_strides(array), 1
    for dim in order:
        if array.shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= array.shape[dim]
    return True


def format_of(array: Array) -> memory_format:
    """The format that an array's strides suggest; where they fit several, the contiguous one."""
    for wanted, order in _CHANNELS_LAST.items():
        if array.ndim == len(order) and _ascends(array.shape, element_strides(array), order):
            return wanted
    return contiguous_format


def common_format(arrays: Sequence[Array]) -> memory_format:
    """The format of all arrays; the contiguous one where there are several."""
    first = format_of(arrays[0])
    return first if all(format_of(a) is first for a in arrays[1:]) else contiguous_format


def _ascends(shape: Sequence[int], strides: Strides, order: Sequence[int]) -> bool:
    """Whether channels are the fastest dimension, and the others follow in order."""
    if strides[1] == 0:
        return False
    least = 0
    for dim in order:
        if shape[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * max(shape[dim], 1)
    return True


def fastest_first(shape: Sequence[int], operands: Sequence[Strides]) -> list[int]:
    """The dimensions by ascending stride, as PyTorch orders them to go through several operands at once.

    The first operand whose strides order two dimensions decides; one that is broadcast along either is skipped.
    """
    order = list(range(len(shape)))[::-1]
    for end in range(1, len(order)):
        place = end
        for before in reversed(range(end)):
            comparison = _compared(order[before], order[place], shape, operands)
            if comparison < 0:
                break
            if comparison > 0:
                order[before], order[place] = order[place], order[before]
                place = before
    return order


def _compared(a: int, b: int, shape: Sequence[int], operands: Sequence[Strides]) -> int:
    """-1 if dimension ``a`` is faster than ``b``, 1 if it is slower, 0 if either order is possible."""
    for strides in operands:
        if strides[a] and strides[b]:
            if strides[a] != strides[b]:
                return -1 if strides[a] < strides[b] else 1
            if shape[a] > shape[b]:
                return 1
    return 0


def settles(shape: Sequence[int], strides: Strides, order: Sequence[int]) -> bool:
    """Whether strides distinguish each dimension of an order, fastest first, from the next one."""
    return all(_compared(a, b, shape, [strides]) < 0 for a, b in itertools.pairwise(order))


def dense_strides(shape: Sequence[int], order: Sequence[int]) -> Strides:
    """Strides without gaps for dimensions in an order from the fastest to the slowest."""
    strides, step = [0] * len(order), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def column_strides(shape: Sequence[int]) -> Strides:
    """Strides of matrices column by column, as LAPACK writes them."""
    return dense_strides(shape, [len(shape) - 2, len(shape) - 1, *reversed(range(len(shape) - 2))])


def in_columns(array: Array) -> Array:
    """Matrices column by column: the array itself, or a copy."""
    if array.ndim < 2 or not array.size:
        return array
    strides = column_strides(array.shape)
    return array if strides == element_strides(array) else copied_with(strides, array)


def strides_like(array: Array, wanted: memory_format | None = None) -> Strides:
    """Strides of a copy of an array: in a format, or its own, in their order where there are gaps."""
    if wanted is not None and wanted != preserve_format:
        return strides_in(array.shape, wanted)
    strides = element_strides(array)
    if not array.size or is_dense(array):
        return strides
    return dense_strides(array.shape, fastest_first(array.shape, [strides]))


def laid_out(shape: Sequence[int], strides: Strides, make: Callable[[Any], Array]) -> Array:
    """A new array with strides that leave no gaps: ``make`` gets the shape, or the number of elements."""
    shape = tuple(shape)
    if strides == contiguous_strides(shape):
        return make(shape)
    line = make(int(np.prod(shape)))
    return np.ndarray(shape, line.dtype, line.view(np.uint8).data, 0, tuple([s * line.itemsize for s in strides]))


def _has_usual_strides(array: Array) -> bool:
    """Whether NumPy gives a copy of a row-major array the same strides, which it chooses for sizes 0 and 1."""
    shape = array.shape
    return 1 not in shape and 0 not in shape


def made_like(array: Array, wanted: memory_format | None, make: Callable[[Any], Array]) -> Array:
    """A new array with the shape of another, in a format or in its layout."""
    usual = wanted is None and array.flags.c_contiguous and _has_usual_strides(array)
    return make(array.shape) if usual else laid_out(array.shape, strides_like(array, wanted), make)


def copied(array: Array, wanted: memory_format | None = None, dtype: Any = None) -> Array:
    """A copy of an array in a format or in its own layout, and in a dtype."""
    if wanted is None:
        rows = array.flags.c_contiguous and _has_usual_strides(array)
    else:
        rows = wanted == contiguous_format
    if rows:
        return np.array(array, dtype, order="C")
    return copied_with(strides_like(array, wanted), array, dtype)


def copied_with(strides: Strides, array: Array, dtype: Any = None) -> Array:
    """A copy of an array with given strides that leave no gaps, and in a dtype."""
    made = laid_out(array.shape, strides, partial(np.empty, dtype=array.dtype if dtype is None else dtype))
    made[...] = array
    return made
