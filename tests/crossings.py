"""Where drawn lines cross, worked out from points on them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]


def crossings(one: Sequence[Point], other: Sequence[Point]) -> int:
    """How often two chains of points cross, by the sides on which the ends of their pieces lie."""
    return sum(_cross(a, b, c, d) for a, b in pairwise(one) for c, d in pairwise(other))


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two straight pieces cross, not counting those that touch."""
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, c: Point) -> float:
    """On which side of a line through two points a third one lies, as a signed area."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
