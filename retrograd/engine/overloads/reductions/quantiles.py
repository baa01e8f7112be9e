"""Quantiles, with NaN or without."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.public import check_tensor, public
from ...table.registry import F
from ...tensors.base import TensorBase, wrap
from ...tensors.convert import checked_dim


def _quantile(input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:  # noqa: A002
    """The quantiles ``q`` along ``dim`` (in front, where ``q`` is a vector)."""
    check_tensor("quantile", input)
    q = _checked_points(input, q, interpolation)
    ndim = input.ndim
    if not ndim and dim is not None:
        checked_dim(dim, 0)
        dim = None
    lines = input.reshape(-1) if dim is None else F.transpose(F.unsqueeze(input, -1), checked_dim(dim, ndim), -1)
    if dim is not None and not keepdim:
        lines = F._squeeze_dim(lines, checked_dim(dim, ndim))
    out = _interpolated(F._sort(lines, -1, False)[0], q, interpolation, ignore_nan)
    if dim is None and keepdim:
        out = out.reshape((1,) * ndim + (-1,))
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
    if not ((q._array >= 0) & (q._array <= 1)).all():
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
    values = ordered._array
    missing, n = np.isnan(values), values.shape[-1]
    if ignore_nan:
        last = np.maximum(n - missing.sum(-1, keepdims=True) - 1, 0).astype(values.dtype)
        exact = q.reshape(-1) * wrap(last)
    else:
        exact = F._where(wrap(missing.any(-1, keepdims=True)), wrap(values.dtype.type(n - 1)), q.reshape(-1) * (n - 1))
    ranks = exact._array
    rounding: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
    ranks = rounding[interpolation](ranks) if interpolation in rounding else ranks
    below = np.floor(ranks)
    low = F.gather(ordered, -1, wrap(below.astype(np.int64)))
    if interpolation not in ("linear", "midpoint"):
        return low
    weight = wrap(np.full_like(ranks, 0.5)) if interpolation == "midpoint" else exact - wrap(below)
    return low.lerp_(F.gather(ordered, -1, wrap(np.ceil(ranks).astype(np.int64))), weight)


@public("quantile", out=True)
def quantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:  # fmt: skip
    """Quantiles of all elements or along ``dim``; NaN if there is any."""
    return _quantile(input, q, dim, keepdim, interpolation, False)


@public("nanquantile", out=True)
def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:  # fmt: skip
    """Quantiles of what is not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)
