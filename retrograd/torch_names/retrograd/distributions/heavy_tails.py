"""Distributions with heavier tails than the normal one: Cauchy, Student's t, Gumbel."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from . import constraints
from .gamma import Chi2
from .kl import register_kl
from .located import Located
from .parameters import broadcast_all

EULER = 0.5772156649015329


class Cauchy(Located):
    """The ratio of two normal numbers: it has no mean."""

    __module__ = "retrograd.distributions.cauchy"

    @property
    def mean(self) -> Any:
        """NaN."""
        return FUNCTIONS["full"](self._extended_shape(), math.nan, dtype=self.loc.dtype)

    @property
    def variance(self) -> Any:
        """Infinity."""
        return FUNCTIONS["full"](self._extended_shape(), math.inf, dtype=self.loc.dtype)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``loc + noise · scale``."""
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).pow(2).log1p()

    def cdf(self, value: Any) -> Any:
        """By the arc tangent."""
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """By the tangent."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        """``log 4π scale``."""
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(Located):
    """The largest of many numbers."""

    __module__ = "retrograd.distributions.gumbel"

    @property
    def mean(self) -> Any:
        """``loc + 0.577… · scale``."""
        return self.loc + self.scale * EULER

    @property
    def stddev(self) -> Any:
        """``π / √6 · scale``."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        """``π² / 6 · scale²``."""
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``loc - scale log(-log u)``."""
        u = FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=self.loc.dtype)
        limits = finfo(self.loc.dtype)
        return self.loc + -self.scale * (-u.clamp(limits.tiny, 1 - limits.eps).log()).log()

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Any) -> Any:
        """``exp(-exp(-z))``."""
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Any) -> Any:
        """The inverse."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Any:
        """``log scale + 1 + 0.577…``."""
        return self.scale.log() + (1 + EULER)


class StudentT(Located):
    """Student's t with ``df`` degrees of freedom."""

    __module__ = "retrograd.distributions.studentT"

    arg_constraints = {"df": constraints.positive, **Located.arg_constraints}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, loc, scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(loc, scale, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._chi2 = self._chi2.expand(batch_shape)
        return made

    @property
    def mean(self) -> Any:
        """``loc``; NaN up to one degree of freedom."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self) -> Any:
        """``scale² df / (df - 2)``; infinite up to two degrees of freedom, NaN up to one."""
        finite = (self.scale.pow(2) * self.df / (self.df - 2)).masked_fill(self.df <= 2, math.inf)
        return finite.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Normal numbers over the root of chi-square ones."""
        noise = self._standard_normal(sample_shape, self.loc)
        return self.loc + self.scale * noise * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        normalizer = normalizer + (0.5 * self.df).lgamma() - (0.5 * (self.df + 1.0)).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Any:
        """By gamma and digamma functions."""
        half = 0.5 * self.df
        beta = half.lgamma() + math.log(math.pi) / 2 - (half + 0.5).lgamma()
        slopes = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + slopes + 0.5 * self.df.log() + beta


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Any, q: Any) -> Any:
    together = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return together.log() - (4 * p.scale * q.scale).log()


DISTRIBUTIONS = ("Cauchy", "Gumbel", "StudentT")
