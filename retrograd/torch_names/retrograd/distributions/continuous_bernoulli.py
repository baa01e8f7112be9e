"""The continuous Bernoulli distribution (Loaiza-Ganem and Cunningham 2019): grey values between 0 and 1."""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .bernoulli import Coin, cross_entropy
from .exp_family import ExponentialFamily
from .kl import register_kl
from .parameters import clamped, lazy_property, probs_of


class ContinuousBernoulli(Coin, ExponentialFamily):
    """Density ``C probsˣ (1 - probs)¹⁻ˣ``; within ``lims`` around ½, where formulas divide by 0, by Taylor series."""

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not bool(constraints.unit_interval.check(self.probs).all()):
                raise ValueError("The parameter probs has invalid values")
            self.__dict__["probs"] = clamped(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), (), validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The parameter between 0 and 1, which is not the mean."""
        return clamped(probs_of(self.logits, binary=True))

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    def _outside(self) -> Any:
        """Where formulas hold: away from ½."""
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _cut(self) -> Any:
        """The parameter where formulas hold, elsewhere one for which they are finite."""
        return self.probs.where(self._outside(), self._lims[0] * FUNCTIONS["ones_like"](self.probs))

    def _cont_bern_log_norm(self) -> Any:
        """``log C``."""
        cut = self._cut()
        below, low = cut <= 0.5, FUNCTIONS["zeros_like"](cut)
        slope = (-2.0 * cut.where(below, low)).log1p().where(below, (2.0 * cut.where(~below, low + 1) - 1.0).log())
        squared = (self.probs - 0.5).pow(2)
        near = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * squared) * squared
        return (((-cut).log1p() - cut.log()).abs().log() - slope).where(self._outside(), near)

    @property
    def mean(self) -> Any:
        """Between ``probs`` and ½."""
        cut, apart = self._cut(), self.probs - 0.5
        far = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        return far.where(self._outside(), 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * apart.pow(2)) * apart)

    @property
    def variance(self) -> Any:
        """At most that of a uniform number."""
        cut, squared = self._cut(), (self.probs - 0.5).pow(2)
        far = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        return far.where(self._outside(), 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * squared) * squared)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """By the inverse distribution function."""
        return self.icdf(FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        """Minus the binary cross entropy, normalized."""
        self._validate_sample(value)
        return -cross_entropy(self.logits, value) + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        """``(pˣ (1 - p)¹⁻ˣ + p - 1) / (2 p - 1)``."""
        self._validate_sample(value)
        cut = self._cut()
        far = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = far.where(self._outside(), value)
        return inside.masked_fill(value <= 0.0, 0.0).masked_fill(value >= 1.0, 1.0)

    def icdf(self, value: Any) -> Any:
        """The inverse."""
        cut = self._cut()
        other = (-cut).log1p()
        far = ((-cut + value * (2.0 * cut - 1.0)).log1p() - other) / (cut.log() - other)
        return far.where(self._outside(), value)

    def entropy(self) -> Any:
        """``-log C - mean log probs - (1 - mean) log (1 - probs)``."""
        zero, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = (limit - 0.5 for limit in self._lims)
        outside = (x <= low) | (x > high)
        cut = x.where(outside, low * FUNCTIONS["ones_like"](x))
        near = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return (cut.expm1().abs().log() - cut.abs().log()).where(outside, near)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _grey_grey(p: Any, q: Any) -> Any:
    own = p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + (-p.probs).log1p()
    return own - q._cont_bern_log_norm() - (-q.probs).log1p()


DISTRIBUTIONS = ("ContinuousBernoulli",)
