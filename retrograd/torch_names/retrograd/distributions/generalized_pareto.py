"""The generalized Pareto distribution: values above a threshold, with tails set by ``concentration``."""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .distribution import Distribution
from .parameters import broadcast_all


class GeneralizedPareto(Distribution):
    """From ``loc`` on, ``scale`` wide; exponential for ``concentration`` 0, bounded below it."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), (), validate_args)

    def _curved(self) -> tuple[Any, Any]:
        """Where the concentration is 0, and concentrations that may be divided by."""
        straight = FUNCTIONS["isclose"](self.concentration, FUNCTIONS["zeros_like"](self.concentration))
        return straight, self.concentration.masked_fill(straight, 1.0)

    @property
    def support(self) -> Any:
        """From ``loc`` to ``loc - scale / concentration``, or without end."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, end.where(self.concentration < 0, math.inf))

    @property
    def mean(self) -> Any:
        """``loc + scale / (1 - concentration)``; NaN from 1 on."""
        kept = self.concentration.masked_fill(self.concentration >= 1, 0.5)
        return (self.loc + self.scale / (1 - kept)).masked_fill(self.concentration >= 1, math.nan)

    @property
    def mode(self) -> Any:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Any:
        """``scale² / ((1 - c)² (1 - 2 c))``; NaN from ``c`` = ½ on."""
        kept = self.concentration.masked_fill(self.concentration >= 0.5, 0.25)
        spread = self.scale**2 / ((1 - kept) ** 2 * (1 - 2 * kept))
        return spread.masked_fill(self.concentration >= 0.5, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """By the inverse distribution function."""
        return self.icdf(FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        """``-log scale - (1 + 1/c) log(1 + c z)``, or ``-log scale - z``."""
        self._validate_sample(value)
        z, (straight, curve) = (value - self.loc) / self.scale, self._curved()
        power = 1 / curve + FUNCTIONS["ones_like"](z)
        fall = power.where(power == 0, power * (curve * z).log1p())
        return -self.scale.log() - z.where(straight, fall)

    def log_survival_function(self, value: Any) -> Any:
        """Logarithm of the probability of values above ``value``."""
        self._validate_sample(value)
        z, (straight, curve) = (value - self.loc) / self.scale, self._curved()
        return (-z).where(straight, -(curve * z).log1p() / curve)

    def log_cdf(self, value: Any) -> Any:
        """Logarithm of the probability of values up to ``value``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        """By its logarithm."""
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        """The inverse."""
        straight, curve = self._curved()
        log_left = (-value).log1p()
        bent = self.loc + self.scale / curve * (-curve * log_left).expm1()
        return (self.loc - self.scale * log_left).where(straight, bent)

    def entropy(self) -> Any:
        """``log scale + concentration + 1``."""
        return (self.scale.log() + self.concentration + 1).expand(self.batch_shape)


DISTRIBUTIONS = ("GeneralizedPareto",)
