"""Strides of an operator's results where its operands are not contiguous.

NumPy and our kernels choose strides of their own, but programs see PyTorch's, in ``stride()`` and in what ``view``
refuses. The fact ``layout`` of a row names the rule that PyTorch's kernels follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..aliasing.memory_formats import (
    column_strides,
    common_format,
    copied_with,
    dense_strides,
    fastest_first,
    format_of,
    lies_in,
    strides_in,
    strides_like,
)
from ..aliasing.strided import contiguous_strides, element_strides, is_dense
from ..core.base import Array, TensorBase
from ..core.layouts import channels_last, channels_last_3d, contiguous_format


def _iterated(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """Strides of an element-wise result: in the order of the operands' elements in memory.

    https://github.com/pytorch/pytorch/wiki/How-to-use-TensorIterator
    """
    if all(a.shape == shape for a in operands):
        for wanted in (channels_last, channels_last_3d):
            if all(lies_in(a, wanted) for a in operands):
                return strides_in(shape, wanted)
        first = element_strides(operands[0])
        if all(is_dense(a) and element_strides(a) == first for a in operands):
            return first
    order = fastest_first(shape, [_broadcast_strides(a, shape) for a in operands])
    usual = order == list(range(len(shape)))[::-1]
    return contiguous_strides(shape) if usual else dense_strides(shape, order)


def _iterated_backwards(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """The same where PyTorch's kernel gets the operands in the other order."""
    return _iterated(shape, operands[::-1])


def _broadcast_strides(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an operand as it is gone through: 0 along dimensions where it has one element for many."""
    new = len(shape) - array.ndim
    own = zip(array.shape, element_strides(array), shape[new:], strict=True)
    return (0,) * new + tuple([0 if size == 1 and size != whole else stride for size, stride, whole in own])


def _in_format(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """Strides in the memory format of the first operand."""
    wanted = format_of(operands[0])
    return strides_in(shape, wanted) if len(shape) == operands[0].ndim else contiguous_strides(shape)


def _in_common_format(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """Strides in the memory format of all operands, in rows where they have several."""
    return strides_in(shape, common_format(operands))


def _in_any_format(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """Strides in the memory format of an image, or of the weight that it meets; of a volume in that of the volume."""
    either = len(shape) == 4 and contiguous_format is format_of(operands[0])
    return _in_format(shape, operands[1:] if either else operands)


def _as_copied(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """Strides of a copy of the first operand."""
    return strides_like(operands[0]) if shape == operands[0].shape else contiguous_strides(shape)


def _in_rows(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    return contiguous_strides(shape)


def _in_columns(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """Strides of matrices column by column, as LAPACK writes them; vectors of a batch stay as they are."""
    if len(shape) < max(a.ndim for a in operands):
        return contiguous_strides(shape)
    return column_strides(shape)


_RULES: dict[str, Callable[[tuple[int, ...], Sequence[Array]], tuple[int, ...]]] = {
    "operands": _iterated, "copy": _as_copied, "format": _in_format, "formats": _in_any_format,
    "joined": _in_common_format, "rows": _in_rows,
    "columns": _in_columns, "swapped": _iterated_backwards,
}  # fmt: skip


BARE_LAYOUTS = ("operands", "copy")
"""Rules that also apply to backward rules on plain arrays: gradients are laid out like their operands."""
_ALWAYS = ("rows", "columns")
"""Rules with a fixed order; other results are in rows if the operands are."""
_BLIND = "rows"
"""The rule that does not inspect the operands, of which there may be thousands."""


def arranged(layout: str, result: Any, operands: Sequence[Any]) -> Any:
    """A result in PyTorch's layout: the array itself, or a copy."""
    if result.__class__ is not np.ndarray or result.ndim < 2 or not result.size:
        return result
    strides = _RULES[layout](result.shape, operands)
    return result if strides == element_strides(result) else copied_with(strides, result)


def all_arranged(op: Any, computed: Any, operands: Sequence[Any]) -> Any:
    """The results of a row's forward in PyTorch's layout; ``operands`` may contain lists, numbers and others."""
    if op.layout == _BLIND and op.outputs == 1 and not op.aux:
        return arranged(_BLIND, computed, ())
    listed = [entry for a in operands for entry in (a if a.__class__ is list else (a,))]
    arrays = [a._array if isinstance(a, TensorBase) else a for a in listed if isinstance(a, (np.ndarray, TensorBase))]
    if op.layout not in _ALWAYS and all(a.flags.c_contiguous for a in arrays):
        return computed
    if op.outputs == 1 and not op.aux:
        return arranged(op.layout, computed, arrays)
    count = len(computed) - len(op.aux)
    return (*[arranged(op.layout, out, arrays) for out in computed[:count]], *computed[count:])
