"""``make_tensor``: random tensors of any dtype and range, to try functions on."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..engine.core.base import wrap
from ..engine.core.dtypes import dtype as Dtype
from ..engine.core.narrow import kind_of, limits
from ..engine.random import default_generator
from ..engine.streams.drawing import integers
from ..engine.streams.uniform import uniform


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Random values in ``[low, high)``: by default -9 to 9, for integers -9 to 9 or 0 to 9, for bool 0 or 1.

    ``noncontiguous`` gives a tensor with gaps, ``exclude_zero`` puts the smallest positive value where a zero was.
    ``ValueError`` for an empty range or ``requires_grad`` with an integral dtype, ``TypeError`` without a dtype.
    """
    if not isinstance(dtype, Dtype):
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for integral and boolean dtypes, but got {dtype=}")
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    bounds = _bounds(dtype.numpy, low, high)
    room = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    array = _drawn(room, dtype.numpy, *bounds)
    if noncontiguous and sizes:
        array = array[..., ::2]
    if exclude_zero:
        array[array == 0] = 1 if kind_of(dtype.numpy) in "iub" else limits(dtype.numpy).tiny
    made = wrap(array)
    return made.requires_grad_(True) if requires_grad else made


def _bounds(numpy: np.dtype[Any], low: float | None, high: float | None) -> tuple[float, float]:
    """The range asked for, inside what the dtype holds."""
    lowest, highest = {"b": (0, 2), "u": (0, 10), "i": (-9, 10)}.get(kind_of(numpy), (-9, 9))
    first, last = lowest if low is None else low, highest if high is None else high
    if np.isnan(first) or np.isnan(last):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={first} and high={last}")
    if first == last and kind_of(numpy) in "fc":
        warnings.warn(
            "Passing `low==high` to torch.testing.make_tensor for floating or complex types is deprecated",
            FutureWarning,
            stacklevel=3,
        )
    elif first >= last:
        raise ValueError(f"`low` must be less than `high`, but got {first} >= {last}")
    return first, last


def _drawn(sizes: tuple[int, ...], numpy: np.dtype[Any], low: float, high: float) -> Any:
    count = math.prod(sizes)
    if kind_of(numpy) in "iub":
        drawn = integers(default_generator, count, int(np.ceil(low)), int(np.ceil(high))).astype(numpy)
    else:
        drawn = uniform(default_generator, count, numpy, low, high)
    return drawn.reshape(sizes)
