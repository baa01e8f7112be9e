"""The absolute value of a Cauchy number around 0."""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from .half import Half
from .heavy_tails import Cauchy
from .transformed import TransformedDistribution
from .transforms import AbsTransform


class HalfCauchy(Half, TransformedDistribution):
    """The positive half of a Cauchy distribution, ``scale`` wide."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

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
        """Twice the Cauchy density, from 0 on, in the precision of ``scale``."""
        self._validate_sample(value)
        return super().log_prob(FUNCTIONS["as_tensor"](value, dtype=self.scale.dtype))


DISTRIBUTIONS = ("HalfCauchy",)
