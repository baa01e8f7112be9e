"""Shared code of distributions with a location and a scale."""

from __future__ import annotations

from typing import Any

from . import constraints
from .distribution import Distribution
from .parameters import broadcast_all


class Located(Distribution):
    """A distribution around ``loc``, ``scale`` wide."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), (), validate_args)

    @property
    def mode(self) -> Any:
        """``loc``."""
        return self.loc
