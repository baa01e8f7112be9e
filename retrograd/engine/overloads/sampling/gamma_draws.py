"""Gamma-distributed numbers, differentiable with respect to their concentration.

The derivative is implicit (Figurnov et al. 2018): a number is where the distribution function has a certain value, so
it moves with the concentration by ``-(dP/da) / density``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import gamma
from ...random import rng_of
from ...table.public import check_tensor, public
from ...table.registry import F
from ...table.rows import elementwise, underivable
from .draw_checks import check_kind

_STEP = 1e-4
"""Relative step of the central difference: its error and that of rounding are both below 1e-7."""


def _slope(self: Any, output: Any) -> Any:
    """``dx/da`` of gamma numbers ``output`` with concentrations ``self``."""
    a, x = np.asarray(self, np.float64), np.asarray(output, np.float64)
    step = _STEP * a
    lower = gamma.igamma(a + step, x) - gamma.igamma(a - step, x)
    upper = gamma.igammac(a - step, x) - gamma.igammac(a + step, x)  # exact where P is almost 1
    with np.errstate(all="ignore"):
        density = np.exp((a - 1.0) * np.log(x) - x - gamma.lgamma(a))
        slope = -np.where(x < a, lower, upper) / (2 * step) / density
    return np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0).astype(self.dtype)


underivable("_gamma_slope", _slope, tensors="self output")
elementwise("_drawn_gamma", lambda self, values: values, tensors="self", node="StandardGammaBackward0",
            layout="rows", self=lambda g, self, result: g * F._gamma_slope(self, result))  # fmt: skip


@public("_standard_gamma_grad", method=False)
def _standard_gamma_grad(self: Any, output: Any) -> Any:
    """How gamma numbers ``output`` move with their concentrations ``self``."""
    return F._gamma_slope(self, output)


@public("_standard_gamma", method=False)
def _standard_gamma(self: Any, generator: Any = None) -> Any:
    """Gamma numbers with the elements as concentrations and rate 1."""
    check_tensor("_standard_gamma", self)
    check_kind("gamma_cpu", self._sig.numpy)
    drawn = rng_of(generator).standard_gamma(self._array.astype(np.float64))
    tiny = np.finfo(self._sig.numpy).tiny
    return F._drawn_gamma(self, np.maximum(np.asarray(drawn), tiny).astype(self._sig.numpy))
