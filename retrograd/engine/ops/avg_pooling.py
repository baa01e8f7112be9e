"""Average pools and their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.sliding import Sizes, inner, overhang, padded, taps
from ..table.op import linear
from ..table.registry import F

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


def _avg_pool_back(grad: Any, spatial: Sizes, how: AvgHow) -> Any:
    kernel, stride, padding, count, *_ = how
    share = grad / _divisor(spatial, how, grad.dtype)
    whole = tuple(n + p + a for n, p, a in zip(spatial, padding, _overhang(spatial, how), strict=True))
    out = np.zeros(grad.shape[: grad.ndim - len(kernel)] + whole, grad.dtype)
    for tap in taps(kernel, stride, (1,) * len(kernel), count):
        out[tap] += share
    return out[inner(padding, spatial)]


for _dims in (2, 3):
    linear(
        f"_avg_pool{_dims}d", _avg_pool, node=f"AvgPool{_dims}DBackward0", keeps="asked",
        self=lambda g, self, how: F._avg_pool_back(g, tuple(self.shape[-len(how[0]) :]), how),
        kinds="fl" if _dims == 2 else "wl",
    )  # fmt: skip
linear(
    "_avg_pool_back", _avg_pool_back, node="AvgPoolBackwardBackward0", tensors="grad",
    grad=lambda g, how: getattr(F, f"_avg_pool{len(how[0])}d")(g, how),
)  # fmt: skip
