"""Blocks of 16 uniform numbers made normal: the first eight give radii, the others angles (Box and Muller 1958)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_CHUNK = 512
"""Blocks at a time: intermediate results stay in the cache."""


def transformed(uniform: Any) -> Any:
    """Standard normal numbers of as many uniform ones, a multiple of 16, in single or double precision."""
    blocks = uniform.reshape(-1, 2, 8)
    drawn = np.empty_like(blocks)
    for start in range(0, len(blocks), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        radius, angle = _polar(blocks[chunk, 0], blocks[chunk, 1])
        np.multiply(np.cos(angle), radius, out=drawn[chunk, 0])
        np.multiply(np.sin(angle), radius, out=drawn[chunk, 1])
    return drawn.reshape(-1)


def _polar(first: Any, second: Any) -> tuple[Any, Any]:
    """Radius and angle of points in the plane, each coordinate of which is normal."""
    radius = np.subtract(1, first)
    np.log(radius, out=radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    return radius, np.multiply(2 * math.pi, second)
