"""Kumaraswamy's distribution: similar to beta, with the closed distribution function ``1 - (1 - xᵃ)ᵇ``."""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .heavy_tails import EULER
from .parameters import broadcast_all
from .transformed import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1 with ``concentration1`` towards 1 and ``concentration0`` towards 0."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero = FUNCTIONS["zeros_like"](self.concentration0.detach())
        maps = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(zero, zero + 1, validate_args), maps, validate_args)

    def _moment(self, n: int) -> Any:
        """The expected ``n``-th power, ``b B(1 + n/a, b)``."""
        a, b = self.concentration1, self.concentration0
        shifted = 1 + n / a
        return b * (shifted.lgamma() + b.lgamma() - (shifted + b).lgamma()).exp()

    @property
    def mean(self) -> Any:
        """By gamma functions."""
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """By PyTorch's formula, NaN nearly everywhere; the mode is at ``((a - 1) / (a b - 1)) ** (1 / a)``."""
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    @property
    def variance(self) -> Any:
        """By the first two moments."""
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        """By the digamma function."""
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


DISTRIBUTIONS = ("Kumaraswamy",)
