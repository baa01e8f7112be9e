"""Pareto's distribution: above ``scale`` a share ``(scale / x) ** alpha`` exceeds ``x``."""

from __future__ import annotations

import math
from typing import Any

from . import constraints
from .exponential import Exponential
from .kl import register_kl
from .parameters import broadcast_all
from .transformed import TransformedDistribution
from .transforms import AffineTransform, ExpTransform


class Pareto(TransformedDistribution):
    """``scale`` times the exponential of waiting times with rate ``alpha``."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        maps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, validate_args), maps, validate_args)

    @property
    def mean(self) -> Any:
        """``alpha scale / (alpha - 1)``; infinite up to ``alpha`` 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        """``scale``."""
        return self.scale

    @property
    def variance(self) -> Any:
        """``scale² alpha / ((alpha - 1)² (alpha - 2))``; infinite up to ``alpha`` 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @property
    def support(self) -> Any:
        """From ``scale`` on."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        """``log(scale / alpha) + 1 + 1 / alpha``."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return divergence.masked_fill(p.scale < q.scale, math.inf)


DISTRIBUTIONS = ("Pareto",)
