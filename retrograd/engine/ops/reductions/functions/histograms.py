"""Histograms: the number of elements in each bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse, refuse_kind
from ....return_types import named
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.absent import known_values
from ....tensors.base import TensorBase, wrap
from ....tensors.numbers_ import real_number
from ..reduce import refuse_complex


def _limits(array: Any, low: Any, high: Any, name: str) -> tuple[Any, Any]:
    """The outer edges: those given, or of ``histc`` also the data's where they are equal, and wider where those are."""
    refuse_complex(name, array)
    low, high = real_number(low), real_number(high)
    counting = name == "torch.histc"
    if array.size and (low is None or (counting and low == high)):
        low, high = array.min(), array.max()
    elif low is None:
        low, high = 0.0, 1.0
    if low == high:
        margin = 1 if counting else 0.5
        low, high = low - margin, high + margin
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return float(low), float(high)


def _even_edges(array: Any, low: Any, high: Any, name: str, bins: int) -> Any:
    return np.linspace(*_limits(array, low, high, name), bins + 1).astype(array.dtype)


@public("histc", out=True)
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:  # noqa: A002
    """The number of elements in each of ``bins`` equal parts of a range."""
    check_tensor("histc", input)
    if bins <= 0:
        raise RuntimeError("torch.histogramdd(): bins must be > 0, but got " + str(bins))
    refuse_kind("histogram_cpu", input._sig.numpy, "f")
    return F._histc(input, bins, _limits(known_values(input), min, max, "torch.histc"))


def _check_weight(weight: Any, shape: tuple[int, ...]) -> None:
    """``RuntimeError`` for weights that are not one for each point."""
    refuse(
        weight is not None and tuple(weight.shape) != shape,
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding "
        f"its innermost dimension, but got points of shape {list(shape)} and weight with shape "
        f"{list(getattr(weight, 'shape', ()))}",
    )


@public("histogram", out=True)
def histogram(input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:  # noqa: A002
    """Counts (or weights, or densities) in bins, and the edges of the bins."""
    refuse_kind("histogram_cpu", input._sig.numpy, "w")
    _check_weight(weight, tuple(input.shape))
    refuse(
        isinstance(bins, TensorBase) and bins.ndim > 1,
        f"torch.histogramdd: bins tensor should have one dimension, but got {getattr(bins, 'ndim', 0)} dimensions in "
        "the bins tensor for dimension 0",
    )
    edges = bins = int(bins) if isinstance(bins, TensorBase) and not bins.ndim else bins
    if isinstance(bins, TensorBase) and not bins.numel():
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements")
    if not isinstance(bins, TensorBase):
        if bins <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
        low, high = (None, None) if range is None else range
        edges = wrap(_even_edges(input._array, low, high, "torch.histogram", bins))
    return named("histogram", *F._histogram(input, edges, weight, density))


@public("histogramdd", method=False)
def histogramdd(input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:  # noqa: A002
    """Counts (or weights, or densities) of points in a grid of boxes, and the edges of the grid in each direction."""
    check_tensor("histogramdd", input)
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions, but got "
                           f"{input.ndim}")  # fmt: skip
    refuse_kind("histogramdd", input._sig.numpy, "w")
    _check_weight(weight, tuple(input.shape[:-1]))
    points = input._array.reshape(-1, input.shape[-1])
    dims = points.shape[1]
    given: list[Any] = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(given) != dims:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if isinstance(given[0], TensorBase):
        counts = F._histogramdd_from_bin_tensors(input, [b._array for b in given], weight, density)
        return named("histogramdd", counts, tuple(given))
    low, high = ([None] * dims, [None] * dims) if range is None else (range[::2], range[1::2])
    refuse(min(given, default=1) < 0, "number of steps must be non-negative")
    for i, b in enumerate(given):
        refuse(b == 0, f"torch.histogram(): bins must be > 0, but got {b} for dimension {i}")
    edges = [_even_edges(points[:, i], low[i], high[i], "torch.histogramdd", b) for i, b in enumerate(given)]
    counts = F._histogramdd_from_bin_cts(input, edges, weight, density)
    return named("histogramdd", counts, tuple(F._histogramdd_bin_edges(input, weight, tuple(edges))))


@public("bincount", aten="bincount.default")
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:  # noqa: A002
    """The number of occurrences of each non-negative integer."""
    check_tensor("bincount", input)
    array = input._array
    refuse_kind("bincount_cpu", array.dtype, "iu")
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    refuse(minlength < 0, "minlength should be >= 0")
    if weights is None:
        return wrap(np.bincount(array, minlength=minlength).astype(np.int64))
    if tuple(weights.shape) != tuple(input.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return F._weighted_bincount(input, weights, minlength)
