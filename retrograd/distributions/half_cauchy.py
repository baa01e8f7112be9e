"""The absolute value of a Cauchy number around 0."""

from __future__ import annotations

import math
from typing import Any

from ..engine.table.methods import FUNCTIONS
from . import constraints
from .heavy_tails import Cauchy
from .transformed import TransformedDistribution
from .transforms import AbsTransform


class HalfCauchy(TransformedDistribution):
    """The positive half of a Cauchy distribution, ``scale`` wide."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    @property
    def scale(self) -> Any:
        """That of the Cauchy distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """Infinity."""
        return FUNCTIONS["full"](self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def mode(self) -> Any:
        """0."""
        return FUNCTIONS["zeros_like"](self.scale)

    @property
    def variance(self) -> Any:
        """Infinity."""
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Any:
        """Twice the Cauchy density, from 0 on."""
        self._validate_sample(value)
        value = FUNCTIONS["as_tensor"](value, dtype=self.scale.dtype)
        return (self.base_dist.log_prob(value) + math.log(2)).where(value >= 0, -math.inf)

    def cdf(self, value: Any) -> Any:
        """``2 cdf - 1`` of the Cauchy distribution."""
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The inverse."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """``log 2`` less than that of the Cauchy distribution."""
        return self.base_dist.entropy() - math.log(2)


DISTRIBUTIONS = ("HalfCauchy",)
