"""The ratio of two spreads: the F distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .parameters import broadcast_all


class FisherSnedecor(Distribution):
    """The ratio of two chi-square numbers, each over its degrees of freedom ``df1`` and ``df2``."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._gamma1, made._gamma2 = self._gamma1.expand(batch_shape), self._gamma2.expand(batch_shape)
        return made

    @property
    def mean(self) -> Any:
        """``df2 / (df2 - 2)``; NaN up to 2."""
        kept = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return kept / (kept - 2)

    @property
    def mode(self) -> Any:
        """``(df1 - 2) df2 / (df1 (df2 + 2))``; NaN up to ``df1`` = 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        """``2 df2² (df1 + df2 - 2) / (df1 (df2 - 2)² (df2 - 4))``; NaN up to ``df2`` = 4."""
        kept = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * kept.pow(2) * (self.df1 + kept - 2) / (self.df1 * (kept - 2).pow(2) * (kept - 4))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The ratio of two gamma numbers, neither of them 0."""
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = finfo(below.dtype).tiny
        return (above / below.clamp_(min=tiny)).clamp_(min=tiny)

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        rise = half1 * ratio.log() + (half1 - 1) * value.log()
        return normalizer + rise - (half1 + half2) * (ratio * value).log1p()


DISTRIBUTIONS = ("FisherSnedecor",)
