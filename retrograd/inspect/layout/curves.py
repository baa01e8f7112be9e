"""From the way points of an edge to Bezier pieces that leave and arrive vertically."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from .base import Point, straight, vertical

_TURN = 34.0
"""How far a U-turn reaches beyond its ends."""


def curve(points: Iterable[Point]) -> list[Point]:
    """Return Bezier points through way points; two on one height are joined by a U-turn."""
    way = _without_straights(points)
    bezier = [way[0]]
    heading = 1.0
    for start, end in pairwise(way):
        if start[1] == end[1]:
            turn = start[1] + heading * _TURN
            bezier += [(start[0], turn), (end[0], turn), end]
            heading = -heading
        elif start[0] == end[0]:
            bezier += straight(start, end)
            heading = 1.0 if end[1] > start[1] else -1.0
        else:
            bezier += vertical(start, end)
            heading = 1.0 if end[1] > start[1] else -1.0
    return bezier


def _without_straights(points: Iterable[Point]) -> list[Point]:
    """Return the way points without doubled ones and without the inner ones of a vertical line."""
    way: list[Point] = []
    for x, y in points:
        point = (round(x, 1), round(y, 1))
        if way and way[-1] == point:
            continue
        if (
            len(way) > 1
            and way[-1][0] == way[-2][0] == point[0]
            and (way[-1][1] > way[-2][1]) == (point[1] > way[-1][1])
        ):
            way[-1] = point
        else:
            way.append(point)
    return way
