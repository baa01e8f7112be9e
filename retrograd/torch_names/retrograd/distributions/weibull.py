"""Weibull's distribution: lifetimes whose risk grows or falls with age."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .exponential import Exponential
from .heavy_tails import EULER
from .parameters import broadcast_all
from .transformed import TransformedDistribution
from .transforms import AffineTransform, PowerTransform


class Weibull(TransformedDistribution):
    """``scale`` times the power ``1 / concentration`` of a waiting time."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        maps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(Exponential(FUNCTIONS["ones_like"](self.scale.detach()), validate_args), maps, validate_args)

    @property
    def concentration_reciprocal(self) -> Any:
        """``1 / concentration``."""
        return self.concentration.reciprocal()

    @property
    def mean(self) -> Any:
        """``scale Γ(1 + 1/k)``."""
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Any:
        """``scale ((k - 1) / k) ** (1 / k)``."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Any:
        """``scale² (Γ(1 + 2/k) - Γ(1 + 1/k)²)``."""
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def entropy(self) -> Any:
        """``0.577… (1 - 1/k) + log(scale / k) + 1``."""
        inverse = self.concentration_reciprocal
        return EULER * (1 - inverse) + (self.scale * inverse).log() + 1


DISTRIBUTIONS = ("Weibull",)
