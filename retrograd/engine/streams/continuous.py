"""Random numbers by inverting a distribution function, in double precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.fused import fused
from .normal import in_pairs
from .uniform import unit_doubles

if TYPE_CHECKING:
    from ..random import Generator


def exponential(generator: Generator, count: int, rate: float = 1.0) -> Any:
    """Waiting times for events that come at a rate."""
    with np.errstate(all="ignore"):
        return -1.0 / rate * np.log1p(-unit_doubles(generator, count))


def cauchy(generator: Generator, count: int, median: float, width: float) -> Any:
    """Tangents of uniform angles."""
    return fused(np.tan(math.pi * (unit_doubles(generator, count) - 0.5)), width, median)


def log_normal(generator: Generator, count: int, mean: float, std: float) -> Any:
    """Exponentials of normal numbers."""
    with np.errstate(all="ignore"):
        return np.exp(in_pairs(generator, count) * std + mean)


def geometric(generator: Generator, count: int, chance: float) -> Any:
    """The number of trials until the first success."""
    with np.errstate(all="ignore"):
        return np.ceil(np.log(unit_doubles(generator, count)) / math.log1p(-chance))
