"""The reciprocal of a gamma number."""

from __future__ import annotations

import math
from typing import Any

from . import constraints
from .gamma import Gamma
from .transformed import TransformedDistribution
from .transforms import PowerTransform


class InverseGamma(TransformedDistribution):
    """``1 / Gamma(concentration, rate)``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    @property
    def concentration(self) -> Any:
        """Of the gamma number."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """Of the gamma number."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        """``rate / (concentration - 1)``; infinite up to 1."""
        return (self.rate / (self.concentration - 1)).where(self.concentration > 1, math.inf)

    @property
    def mode(self) -> Any:
        """``rate / (concentration + 1)``."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """``rate² / ((c - 1)² (c - 2))``; infinite up to ``c`` = 2."""
        c = self.concentration
        return (self.rate.square() / ((c - 1).square() * (c - 2))).where(c > 2, math.inf)

    def entropy(self) -> Any:
        """``c + log rate + log Γ(c) - (1 + c) ψ(c)``."""
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()


DISTRIBUTIONS = ("InverseGamma",)
