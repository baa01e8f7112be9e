"""Average pools and their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.halves import rounded_once
from ...kernels.sliding import Sizes, inner, overhang, padded, taps
from ...table.registry import F
from ...table.rows import function, linear
from ..pointwise.arithmetic import zero_gradient

AvgHow = tuple[Sizes, Sizes, Sizes, Sizes, bool, Any]
"""``(kernel, stride, padding, count of windows, count_include_pad, divisor_override)``."""


def _overhang(spatial: Sizes, how: AvgHow) -> Sizes:
    kernel, stride, padding, count, *_ = how
    return overhang(spatial, kernel, stride, padding, count)


def _divisor(spatial: Sizes, how: AvgHow, dtype: Any) -> Any:
    """How many elements each window counts: a number, or an array where windows differ."""
    kernel, stride, padding, count, include_pad, override = how
    if override:
        return dtype.type(override)
    whole: Any = 1
    for i, n in enumerate(spatial):
        start = np.arange(count[i]) * stride[i] - padding[i]
        end = np.minimum(start + kernel[i], n + padding[i])
        length = end - start if include_pad else np.minimum(end, n) - np.maximum(start, 0)
        whole = whole * length.reshape(-1, *(1,) * (len(spatial) - 1 - i))
    return np.asarray(whole).astype(dtype)


@rounded_once()
def _avg_pool(self: Any, how: AvgHow, asked: Any = None) -> Any:
    """The mean of each window."""
    kernel, stride, padding, count, *_ = how
    spatial = self.shape[self.ndim - len(kernel) :]
    xp = padded(self, padding, _overhang(spatial, how))
    out = None
    for tap in taps(kernel, stride, (1,) * len(kernel), count):
        out = xp[tap].copy() if out is None else np.add(out, xp[tap], out=out)
    divisor = _divisor(spatial, how, self.dtype)
    return out / divisor if self.dtype.kind in "fc" else np.trunc(out / divisor).astype(self.dtype)


def _avg_pool_back(grad: Any, self: Any, how: AvgHow) -> Any:
    kernel, stride, padding, count, *_ = how
    spatial = self.shape[self.ndim - len(kernel) :]
    share = grad / _divisor(spatial, how, grad.dtype)
    whole = tuple(n + p + a for n, p, a in zip(spatial, padding, _overhang(spatial, how), strict=True))
    out = np.zeros(grad.shape[: grad.ndim - len(kernel)] + whole, grad.dtype)
    for tap in taps(kernel, stride, (1,) * len(kernel), count):
        out[tap] += share
    return np.ascontiguousarray(out[inner(padding, spatial)])


def _rows(dims: int, kinds: str) -> None:
    """The pool and its transpose, which takes the input for its size: the input's second gradient is zeros."""
    name, back = f"_avg_pool{dims}d", f"_avg_pool{dims}d_backward"
    linear(
        name, _avg_pool, node=f"AvgPool{dims}DBackward0", keeps="asked", kinds=kinds, layout="format",
        self=lambda g, self, how: getattr(F, back)(g, self, how),
    )  # fmt: skip
    function(
        back, _avg_pool_back, node=f"AvgPool{dims}DBackwardBackward0", tensors="grad self",
        grad=lambda g, how: getattr(F, name)(g, how), self=zero_gradient,
    )  # fmt: skip


_rows(2, "fl")
_rows(3, "wl")
