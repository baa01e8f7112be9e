"""Gamma-distributed numbers, differentiable with respect to their concentration.

The derivative is implicit (Figurnov et al. 2018): a number is where the distribution function has a certain value, so
it moves with the concentration by ``-(dP/da) / density``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse_kind
from ....kernels import gamma
from ....random import generator_of
from ....streams import rejection
from ....streams.normal import narrowed
from ....table.public import check_tensor, public
from ....table.registry import F
from ....table.rows import elementwise, underivable
from ....tensors.base import wrap
from ....tensors.narrow import limits
from .draw_checks import check_kind

_STEP = 1e-4
"""Step of the central difference, of the width ``sqrt(a)`` (of ``a`` below 1): within four widths of the mean, its
error and that of rounding stay below 1e-6 of the slope for concentrations up to ``_LARGE``."""
_LARGE = 1e4
"""From here on rounding in the distribution function outgrows what the normal approximation leaves out (1e-6)."""


def _difference_slope(a: Any, x: Any) -> Any:
    """``dx/da`` from a central difference of the distribution function."""
    step = _STEP * np.minimum(a, np.sqrt(a))
    lower = gamma.igamma(a + step, x) - gamma.igamma(a - step, x)
    upper = gamma.igammac(a - step, x) - gamma.igammac(a + step, x)  # exact where P is almost 1
    density = np.exp((a - 1.0) * np.log(x) - x - gamma.lgamma(a))
    return -np.where(x < a, lower, upper) / (2 * step) / density


def _asymptotic_slope(a: Any, x: Any) -> Any:
    """``dx/da`` of ``x = a (1 - 1/9a + z/(3 sqrt a))**3`` at a fixed normal number ``z`` (Wilson, Hilferty 1931)."""
    root = np.cbrt(x / a)
    return root**2 * (root + 1.0 / (6.0 * a) - 1.5 * (root - 1.0))


def _slope(self: Any, output: Any) -> Any:
    """``dx/da`` of gamma numbers ``output`` with concentrations ``self``."""
    a, x = np.broadcast_arrays(np.asarray(self, np.float64), np.asarray(output, np.float64))
    slope, large = np.empty(a.shape), a > _LARGE
    with np.errstate(all="ignore"):
        slope[large] = _asymptotic_slope(a[large], x[large])
        slope[~large] = _difference_slope(a[~large], x[~large])
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
    drawn = rejection.gamma(generator_of(generator), self._array)
    tiny = limits(self._sig.numpy).tiny
    return F._drawn_gamma(self, narrowed(np.fmax(drawn, tiny), self._sig.numpy))


@public("_sample_dirichlet", method=False)
def _sample_dirichlet(self: Any, generator: Any = None) -> Any:
    """Probabilities with the elements as concentrations: gamma numbers over their sum; no derivative here."""
    check_tensor("_sample_dirichlet", self)
    refuse_kind("dirichlet", self._sig.numpy, "w")
    drawn = rejection.gamma(generator_of(generator), self._array.astype(np.float64))
    shares = drawn / drawn.sum(-1, keepdims=True) if self.ndim else drawn / drawn
    return wrap(narrowed(np.clip(shares, limits(self._sig.numpy).tiny, 1), self._sig.numpy))
