"""How far to go along a direction: a step that satisfies the strong Wolfe conditions.

A bracket around such a step is found by steps that grow, then made smaller by cubic interpolation (Nocedal and Wright,
Numerical Optimization, algorithms 3.5 and 3.6, with the safeguards of Schmidt's minFunc, which PyTorch has as well).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DECREASE = 1e-4
"""The loss must fall by this share of what the slope at the start promises."""
FLATTENED = 0.9
"""The slope must come down to this share of the one at the start."""


@dataclass(frozen=True)
class Point:
    """One step length, with the loss and the gradient there."""

    t: float
    loss: float
    gradient: Any
    slope: float
    """Of the loss along the direction."""


class Search:
    """One search: ``evaluate(t)`` gives the point at step length ``t``; after ``most`` the lowest one is taken."""

    def __init__(self, evaluate: Callable[[float], Point], start: Point, smallest: float, most: int) -> None:
        self.evaluate, self.start, self.smallest, self.most = evaluate, start, smallest, most
        self.tried = 0
        """How many steps were refined; the first evaluation is not one of them."""
        self.evaluations = 0

    def found(self, t: float) -> Point:
        """A step that satisfies the conditions, or the lowest one that was seen."""
        ends = self._bracket(t)
        return ends[0] if len(ends) == 1 else self._zoom(*ends)

    def _at(self, t: float) -> Point:
        self.evaluations += 1
        return self.evaluate(t)

    def _too_high(self, point: Point) -> bool:
        return point.loss > self.start.loss + DECREASE * point.t * self.start.slope

    def _flat(self, point: Point) -> bool:
        return abs(point.slope) <= -FLATTENED * self.start.slope

    def _bracket(self, t: float) -> tuple[Point, ...]:
        """Two points with a good step between them, or that step."""
        before, point = self.start, self._at(t)
        while self.tried < self.most:
            if self._too_high(point) or (self.tried > 1 and point.loss >= before.loss):
                return before, point
            if self._flat(point):
                return (point,)
            if point.slope >= 0:
                return before, point
            bounds = (point.t + 0.01 * (point.t - before.t), point.t * 10)
            before, point = point, self._at(lowest_of_cubic(before, point, bounds))
            self.tried += 1
        return self.start, point

    def _zoom(self, one: Point, other: Point) -> Point:
        """The good step between two points: the interval shrinks around the lower one."""
        low, high = (one, other) if one.loss <= other.loss else (other, one)
        stalled = False
        while self.tried < self.most and abs(high.t - low.t) >= self.smallest:
            left, right = (low, high) if low.t <= high.t else (high, low)
            t, stalled = self._away_from_ends(lowest_of_cubic(left, right, (left.t, right.t)), left.t, right.t, stalled)
            point = self._at(t)
            self.tried += 1
            if self._too_high(point) or point.loss >= low.loss:
                high = point
                low, high = (low, high) if low.loss <= high.loss else (high, low)
                continue
            if self._flat(point):
                return point
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return low

    @staticmethod
    def _away_from_ends(t: float, left: float, right: float, stalled: bool) -> tuple[float, bool]:
        """A step near an end is let pass once; the second time it is moved inside by a tenth of the interval."""
        margin = 0.1 * (right - left)
        if min(right - t, t - left) >= margin:
            return t, False
        if not stalled and left < t < right:
            return t, True
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def lowest_of_cubic(one: Point, other: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through two losses and slopes is lowest within bounds; their middle if it has no minimum."""
    a, b = (one, other) if one.t <= other.t else (other, one)
    if a.t == b.t:
        return sum(bounds) / 2
    shape = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = shape**2 - a.slope * b.slope
    if square < 0:
        return sum(bounds) / 2
    root = math.sqrt(square)
    lowest = b.t - (b.t - a.t) * ((b.slope + root - shape) / (b.slope - a.slope + 2 * root))
    return min(max(lowest, bounds[0]), bounds[1])
