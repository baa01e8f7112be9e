"""From the way points of an edge to Bezier pieces that leave and arrive vertically."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from .base import Point, straight, vertical

_FLAT, _WIDER, _FARTHEST = 14.0, 0.035, 29.0
"""How far a turn reaches: so much, more the wider it is, at most so far; a narrow one is half a circle."""
_ROUND = 0.5523
"""Where the controls of a quarter of a circle stand, from its ends to its corner."""


def u_turn(start: Point, end: Point, heading: float) -> list[Point]:
    """Return the points after ``start`` of a turn to another place on the same height: corner, straight, corner.

    A wide turn reaches farther than a narrow one, and corners are round, so that one within another does not meet it.
    """
    (x0, y), (x1, _) = start, end
    width = abs(x1 - x0)
    deep = min(width / 2, _FLAT + _WIDER * width, _FARTHEST)
    side, far = (deep if x1 > x0 else -deep), y + heading * deep
    first, last = (x0 + side, far), (x1 - side, far)
    near = y + heading * deep * _ROUND
    turn = [(x0, near), (x0 + side * (1 - _ROUND), far), first]
    turn += straight(first, last)
    turn += [(x1 - side * (1 - _ROUND), far), (x1, near)]
    return [*((round(x, 1), round(y, 1)) for x, y in turn), end]


def curve(points: Iterable[Point]) -> list[Point]:
    """Return Bezier points through way points; two on one height are joined by a U-turn."""
    way = _without_straights(points)
    bezier = [way[0]]
    heading = 1.0
    for start, end in pairwise(way):
        if start[1] == end[1]:
            bezier += u_turn(start, end, heading)
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
