"""Arrays without data: shape, dtype and strides of tensors whose class stores the values elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

_REFUSAL = (
    "Cannot access data pointer of Tensor that doesn't have storage: {what} was asked of a tensor that was made by "
    "_make_wrapper_subclass and has no data. Let its class answer in "
    "__torch_dispatch__, or ask the tensor that it holds."
)


class AbsentMemory(np.ndarray[Any, np.dtype[Any]]):
    """Refuses to be computed with; nothing writes to its memory, so that pages of it are never made."""

    has_data = False
    offset = 0
    """Storage offset of the tensor, in elements."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
        raise refusal(ufunc.__name__)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> NoReturn:
        raise refusal(function.__name__)


def _refusing(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: there are no data."""
        raise refusal(name)

    return method


for _name in (
    "__getitem__",
    "__setitem__",
    "__iter__",
    "astype",
    "item",
    "tolist",
    "take",
    "argmax",
    "argmin",
    "argsort",
):
    setattr(AbsentMemory, _name, _refusing(_name))


def known_values(t: Any) -> Any:
    """The elements of a tensor as an array, for reading: zeros for one on ``meta``."""
    array = t._array
    if t.is_meta and array.__class__ is AbsentMemory:
        return np.broadcast_to(np.zeros((), array.dtype), array.shape)
    return array


def refusal(what: str) -> RuntimeError:
    """The error for reading data that do not exist."""
    return RuntimeError(_REFUSAL.format(what=what))


def absent(
    shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int] | None = None, offset: int | None = None
) -> AbsentMemory:
    """An array without data; ``strides`` and ``offset`` count elements."""
    if strides is None:
        made = AbsentMemory(tuple(shape), dtype)
    else:
        size = 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
        memory = np.empty(size * dtype.itemsize, np.uint8)
        made = AbsentMemory(tuple(shape), dtype, memory.data, 0, tuple([s * dtype.itemsize for s in strides]))
    made.offset = offset or 0
    return made
