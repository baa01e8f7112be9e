"""Where the labels of lines stand: near the start of each line, and none over another."""

from __future__ import annotations

from itertools import chain

from ..layout import Point

_BELOW = (17.0, 29.0, 41.0)
"""How far below the start of its line a label may stand."""
_LABEL_HIGH = 11.0


class LabelPlaces:
    """Finds a place for each label of a drawing, on its line near the start, where no other stands."""

    def __init__(self) -> None:
        self._rows: dict[int, list[tuple[float, float, float]]] = {}
        """Height in steps -> labels there: left and right end, and height."""

    def find(self, points: list[Point], width: float) -> Point | None:
        """Return the place of a label of this width, None where there is none: it would only cover others."""
        for below in _BELOW:
            x, y = _label_point(points, below)
            row, left, right = round(y / _LABEL_HIGH), x - width / 2 - 2, x + width / 2 + 2
            near = chain.from_iterable(self._rows.get(row + step, ()) for step in (-1, 0, 1))
            if not any(begin < right and left < end and abs(y - at) < _LABEL_HIGH for begin, end, at in near):
                self._rows.setdefault(row, []).append((left, right, y))
                return x, y
        return None


def _label_point(points: list[Point], below: float) -> Point:
    """Return a place on a line, so far below its start."""
    goal = points[0][1] + below
    for index in range(0, len(points) - 1, 3):
        p0, p1, p2, p3 = points[index : index + 4]
        if p3[1] < goal and p3[1] > p0[1]:
            continue
        if p0[0] == p1[0] == p2[0] == p3[0]:
            return p0[0], goal
        low, high = 0.0, 1.0
        for _ in range(7):
            middle = (low + high) / 2
            if _bezier(p0[1], p1[1], p2[1], p3[1], middle) < goal:
                low = middle
            else:
                high = middle
        return _bezier(p0[0], p1[0], p2[0], p3[0], low), goal
    return points[-1]


def _bezier(p0: float, p1: float, p2: float, p3: float, t: float) -> float:
    """Return one coordinate of a cubic Bezier curve at ``t``."""
    s = 1 - t
    return s * s * s * p0 + 3 * s * s * t * p1 + 3 * s * t * t * p2 + t * t * t * p3
