"""Quantiles, with NaN or without."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_rules import Out
from ....rules.by_number import times
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.absent import known_values
from ....tensors.base import TensorBase, wrap
from ....tensors.convert import checked_dim
from ...shapes.functions.broadcasting import broadcast_pair


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
