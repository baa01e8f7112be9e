"""``Tensor.dim_order``: the order of dimensions in memory, and whether it is unique."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...aliasing.memory_formats import fastest_first, lies_in, settles
from ...aliasing.strided import element_strides
from ...calls.refusals import refuse
from ...core.layouts import channels_last, channels_last_3d, memory_format
from ...table.public import public

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
