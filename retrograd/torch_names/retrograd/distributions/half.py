"""Shared code of distributions of the absolute value of a variable that is symmetric about 0."""

from __future__ import annotations

import math
from typing import Any

from . import constraints


class Half:
    """Beside ``TransformedDistribution``: the absolute value of a distribution around 0, ``scale`` wide."""

    arg_constraints: dict[str, Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any
    _validate_sample: Any

    @property
    def scale(self) -> Any:
        """That of the whole distribution."""
        return self.base_dist.scale

    def log_prob(self, value: Any) -> Any:
        """Twice the whole density, from 0 on."""
        self._validate_sample(value)
        inside = self.base_dist.log_prob(value) + math.log(2)
        return inside.where(value >= 0, -math.inf)

    def cdf(self, value: Any) -> Any:
        """``2 cdf - 1`` of the whole distribution."""
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The inverse."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """``log 2`` less than that of the whole distribution."""
        return self.base_dist.entropy() - math.log(2)
