"""Waiting times: exponential, and Laplace's two-sided ones."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from . import constraints
from .exp_family import ExponentialFamily
from .kl import register_kl
from .located import Located
from .parameters import broadcast_all


class Exponential(ExponentialFamily):
    """Exponential with ``rate``."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), (), validate_args)

    @property
    def mean(self) -> Any:
        """``1 / rate``."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """0."""
        return self.rate * 0

    @property
    def stddev(self) -> Any:
        """``1 / rate``."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """``1 / rate²``."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Unit waiting times over the rate."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """``log rate - rate · value``."""
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        """``1 - exp(-rate · value)``."""
        self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        """``-log(1 - value) / rate``."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        """``1 - log rate``."""
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> Any:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -(-x).log()


class Laplace(Located):
    """Exponential on both sides of ``loc``, with mean distance ``scale``."""

    __module__ = "retrograd.distributions.laplace"

    @property
    def mean(self) -> Any:
        """``loc``."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """``√2 scale``."""
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> Any:
        """``2 scale²``."""
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """By the inverse distribution function of a uniform number on (-1, 1)."""
        low = finfo(self.loc.dtype).eps - 1
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(low, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        """``-log 2 scale - |value - loc| / scale``."""
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        """Half of ``exp`` of the distance, from the nearer side."""
        self._validate_sample(value)
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * (-apart.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        """The inverse."""
        part = value - 0.5
        return self.loc - self.scale * part.sign() * (-2 * part.abs()).log1p()

    def entropy(self) -> Any:
        """``1 + log 2 scale``."""
        return 1 + (2 * self.scale).log()


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Any, q: Any) -> Any:
    apart, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


DISTRIBUTIONS = ("Exponential", "Laplace")
