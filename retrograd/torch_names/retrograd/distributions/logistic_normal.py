"""The logistic normal distribution: points of the simplex made from normal samples."""

from __future__ import annotations

from typing import Any

from . import constraints
from .normal import Normal
from .transformed import TransformedDistribution
from .transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Normal numbers, broken off a stick: one entry more than there are numbers."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """Of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """Of the normal numbers."""
        return self.base_dist.base_dist.scale


DISTRIBUTIONS = ("LogisticNormal",)
