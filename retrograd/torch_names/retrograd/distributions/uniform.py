"""The uniform distribution on an interval."""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .distribution import Distribution
from .kl import register_kl
from .normal import Normal
from .parameters import broadcast_all


class Uniform(Distribution):
    """Uniform on ``[low, high)``."""

    has_rsample = True
    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), (), validate_args)

    def _own_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def _check_parameter(self, name: str, value: Any, constraint: Any) -> None:
        bound = {key: limit.item() if limit.dim() == 0 else limit for key, limit in vars(constraint).items()}
        super()._check_parameter(name, value, type(constraint)(**bound))

    @property
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """Every value is as likely: NaN."""
        return self.high * math.nan

    @property
    def stddev(self) -> Any:
        """``(high - low) / √12``."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Any:
        """``(high - low)² / 12``."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``low + rand · (high - low)``."""
        part = FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + part * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """``-log(high - low)`` inside, minus infinity outside."""
        self._validate_sample(value)
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        """The part of the interval below ``value``."""
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """Where that part ends."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """``log(high - low)``."""
        return (self.high - self.low).log()


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Any, q: Any) -> Any:
    apart = ((q.high - q.low) / (p.high - p.low)).log()
    return apart.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    spread = (width / 2 / math.sqrt(3)).pow(2) + ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + 0.5 * spread / q.scale.pow(2)


@register_kl(Normal, Uniform)
def _normal_uniform(p: Any, q: Any) -> Any:
    return FUNCTIONS["full_like"](p.loc + q.low, math.inf)


DISTRIBUTIONS = ("Uniform",)
