"""``logsumexp``, ``nansum`` and ``count_nonzero``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...table.registry import F
from ...table.rows import function, linear, nondifferentiable
from ..pointwise.arithmetic import conj
from .element_products import accumulation_dtype
from .reduce import axes_of, spread, unsqueezed


@rounded_once()
def _logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """``log(sum(exp(input)))`` without overflow."""
    axes = axes_of(dim, self.ndim)
    if not self.size:
        return np.log(summed(np.exp(self), axes, keepdim))
    largest: Any = np.max(self.real, axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, largest.dtype.type(0))
    total = np.log(summed(np.exp(self - largest), axes, True)) + largest
    return total if keepdim else np.asarray(np.squeeze(total, axes))


def _logsumexp_back(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    sizes = tuple(self.shape)
    return unsqueezed(g, sizes, dim, keepdim) * conj(F.exp(self - unsqueezed(result, sizes, dim, keepdim)))


function("logsumexp", _logsumexp, promote="float", self=_logsumexp_back, layout="rows")


def _nansum(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    clean = np.where(np.isnan(self), self.dtype.type(0), self) if self.dtype.kind in "fc" else self
    return summed(clean, axes_of(dim, self.ndim), keepdim, accumulation_dtype(self, dtype))


linear(
    "_nansum", _nansum, node="NansumBackward0", layout="rows",
    self=lambda g, self, dim, keepdim: spread(g, tuple(self.shape), dim, keepdim) * F.logical_not(F.isnan(self)),
    jvp=lambda primal, tangents, results: F._sum_dim(
        F.masked_fill(tangents[0], F.isnan(primal[0]), 0.0), *primal[1:4]
    ),
)  # fmt: skip


def _count_nonzero(self: Any, dim: Any = None) -> Any:
    return np.asarray(np.count_nonzero(self, axis=axes_of(dim, self.ndim)), np.int64)


nondifferentiable("_count_nonzero", _count_nonzero, layout="rows")
