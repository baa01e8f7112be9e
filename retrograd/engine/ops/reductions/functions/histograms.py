"""Histograms and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_argument import Out
from ....calls.refusals import refuse, refuse_kind
from ....core.absent import known_values
from ....core.argument_checks import real_number
from ....core.base import TensorBase, wrap
from ....core.registry import F
from ....return_types import named
from ....rules.by_number import times
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim
from ...shapes.functions.broadcasting import broadcast_pair
from ..reduce import refuse_complex

# Histograms: the number of elements in each bin.


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


# Quantiles, with NaN or without.


def _quantile(input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:  # noqa: A002
    """The quantiles ``q`` along ``dim`` (in front, where ``q`` is a vector)."""
    check_tensor("quantile", input)
    q = _checked_points(input, q, interpolation)
    ndim = input.ndim
    if not ndim and dim is not None:
        checked_dim(dim, 0)
        dim = None
    axis = 0 if dim is None else checked_dim(dim, ndim)
    shape = [1] * ndim if dim is None else [1 if d == axis else n for d, n in enumerate(input.shape)]
    if not keepdim:
        shape = [] if dim is None else [n for d, n in enumerate(shape) if d != axis]
    if dim is None:
        lines = input.flatten()
    else:
        lines = input if axis == ndim - 1 else F.transpose(F.unsqueeze(input, -1), axis, -1)
    ordered = F._sort(lines, -1, False)[0]
    ordered = F._view(ordered, (*shape, ordered.shape[-1]))
    out = _interpolated(ordered, q, interpolation, ignore_nan)
    if q.ndim:
        out.unsqueeze_(0).transpose_(0, -1)
    return out.squeeze_(-1)


def _checked_points(input: Any, q: Any, interpolation: str) -> Any:  # noqa: A002
    """Which quantiles are asked for, as a tensor; ``RuntimeError`` for what PyTorch has no quantiles of."""
    if input._sig.numpy.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    q = q if isinstance(q, TensorBase) else wrap(np.asarray(q, input._sig.numpy))
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q._sig.numpy != input._sig.numpy:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    points = known_values(q)
    if not ((points >= 0) & (points <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    return q


def _interpolated(ordered: Any, q: Any, interpolation: str, ignore_nan: bool) -> Any:
    """The quantiles of sorted rows; a row with NaN gives NaN, unless NaN is left out."""
    values, q = known_values(ordered), wrap(known_values(q)) if q.is_meta else q
    missing, n = np.isnan(values), values.shape[-1]
    if ignore_nan:
        last = wrap((n - missing.sum(-1, keepdims=True) - 1).astype(values.dtype))
        exact = q * last
        exact = F.masked_fill(exact, wrap(exact._array < 0), 0)
    else:
        exact, absent = broadcast_pair(times(q, n - 1), wrap(missing.any(-1, keepdims=True)))
        exact = F.masked_fill(exact, absent, n - 1)
    ranks = exact._array
    rounding: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
    ranks = rounding[interpolation](ranks) if interpolation in rounding else ranks
    below = np.floor(ranks)
    low = F.gather(ordered, -1, wrap(below.astype(np.int64)).to(ordered.device))
    if interpolation not in ("linear", "midpoint"):
        return low
    weight = wrap(np.full_like(ranks, 0.5)) if interpolation == "midpoint" else exact - wrap(below)
    high = F.gather(ordered, -1, wrap(np.ceil(ranks).astype(np.int64)).to(ordered.device))
    return low.lerp_(high, weight.to(ordered.device))


@public("quantile", out=Out(copied=True))
def quantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:  # fmt: skip
    """Quantiles of all elements or along ``dim``; NaN if there is any."""
    return _quantile(input, q, dim, keepdim, interpolation, False)


@public("nanquantile", out=Out(copied=True))
def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:  # fmt: skip
    """Quantiles of what is not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)
