"""Shared code of multivariate normal distributions, whatever form their covariance is stored in."""

from __future__ import annotations

import math
from typing import Any

from .distribution import Distribution


class Gaussian(Distribution):
    """Normal vectors around ``loc``; subclasses say what their covariance does to columns, and its determinant."""

    loc: Any

    def _energy(self, columns: Any) -> Any:
        """``Σ cᵀ Σ⁻¹ c`` over the columns."""
        raise NotImplementedError

    def _half_log_det(self) -> Any:
        """``½ log det Σ``."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Any:
        """``-½ (n log 2π + (x - loc)ᵀ Σ⁻¹ (x - loc)) - ½ log det Σ``."""
        self._validate_sample(value)
        distance = self._energy((value - self.loc).unsqueeze(-1))
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Any:
        """``½ n (1 + log 2π) + ½ log det Σ``."""
        value = 0.5 * self.event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return value.expand(self.batch_shape) if self.batch_shape else value
