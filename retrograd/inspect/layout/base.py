"""``Layout``: the result of a layout: a box for every node and a curve for every edge, in pixels, y downward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Point = tuple[float, float]


class Size(NamedTuple):
    """Width and height of a card, in pixels."""

    width: float
    height: float


class Box(NamedTuple):
    """The place of one card: its top left corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing without looks: ``boxes[i]`` belongs to node ``i``, ``edges[j]`` to edge ``j`` of a snapshot.

    An edge is a chain of cubic Bezier pieces: ``3 k + 1`` points (start, two controls, end = next start, ...),
    beginning on the bottom side of its source's box and ending on the top side of its target's box.
    """

    boxes: list[Box]
    edges: list[list[Point]]
    width: float
    height: float
    cuts: float = 0.0
    """What turning from column to column costs a reader, in screens."""


def vertical(start: Point, end: Point) -> list[Point]:
    """Return the three points after ``start`` of a Bezier piece that leaves and arrives vertically."""
    middle = (start[1] + end[1]) / 2
    return [(start[0], middle), (end[0], middle), end]


def straight(start: Point, end: Point) -> list[Point]:
    """Return the three points after ``start`` of a Bezier piece that is a straight line."""
    (x0, y0), (x1, y1) = start, end
    return [(x0 + (x1 - x0) / 3, y0 + (y1 - y0) / 3), (x1 - (x1 - x0) / 3, y1 - (y1 - y0) / 3), end]
