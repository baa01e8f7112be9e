"""The normal distribution, and those of its exponential and its absolute value."""

from __future__ import annotations

import math
from typing import Any

from . import constraints
from .exp_family import ExponentialFamily
from .half import Half
from .kl import register_kl
from .located import Located
from .transformed import TransformedDistribution
from .transforms import AbsTransform, ExpTransform


class Normal(Located, ExponentialFamily):
    """Normal with mean ``loc`` and standard deviation ``scale``."""

    _mean_carrier_measure = 0.0

    @property
    def mean(self) -> Any:
        """``loc``."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """``scale``."""
        return self.scale

    @property
    def variance(self) -> Any:
        """``scale²``."""
        return self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``loc + noise · scale``."""
        return self.loc + self._standard_normal(sample_shape, self.loc) * self.scale

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Any:
        """By the error function."""
        self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        """By the inverse error function."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        """``½ + ½ log 2π + log scale``."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> Any:
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return 0.5 * (-math.pi / y).log() - 0.25 * x.pow(2) / y


class LogNormal(TransformedDistribution):
    """The exponential of a normal one."""

    __module__ = "retrograd.distributions.log_normal"

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """Mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """Standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """``exp(loc + scale²/2)``."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        """``exp(loc - scale²)``."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """``(exp(scale²) - 1) exp(2 loc + scale²)``."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        """That of the normal one plus ``loc``."""
        return self.base_dist.entropy() + self.loc


class HalfNormal(Half, TransformedDistribution):
    """The absolute value of a normal one around 0."""

    __module__ = "retrograd.distributions.half_normal"

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    @property
    def mean(self) -> Any:
        """``scale √(2/π)``."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Any:
        """0."""
        return self.scale * 0

    @property
    def variance(self) -> Any:
        """``scale² (1 - 2/π)``."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


@register_kl(Normal, Normal)
def _normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _lognormal_lognormal(p: Any, q: Any) -> Any:
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _halfnormal_halfnormal(p: Any, q: Any) -> Any:
    return _normal_normal(p.base_dist, q.base_dist)


DISTRIBUTIONS = ("Normal", "LogNormal", "HalfNormal")
