"""Where on a box's side each edge leaves or arrives: toward its way, in order, labels apart."""

from __future__ import annotations

from collections.abc import Sequence

from .spacing import spread

_CORNER = 10.0


def ports(centre: float, width: float, wishes: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return places on a side for lines that want to go to ``wishes`` (sorted), ``gaps`` apart if there is room."""
    half = max(width / 2 - _CORNER, 0.0)
    if len(wishes) == 1:
        return [min(max(wishes[0], centre - half), centre + half)]
    total = sum(gaps)
    shrink = min(1.0, 2 * half / total) if total else 1.0
    spaces = [gap * shrink for gap in gaps]
    # A line that can run straight down keeps its place; the others are at the corner anyway.
    weights = [100.0 if abs(wish - centre) <= half else 1.0 for wish in wishes]
    places = spread([min(max(wish, centre - half), centre + half) for wish in wishes], weights, spaces)
    # Least squares under bounds is the unbounded answer, clamped: gaps before a port bound it from the left.
    before, after = 0.0, total * shrink
    bounded = []
    for index, place in enumerate(places):
        bounded.append(min(max(place, centre - half + before), centre + half - after))
        if index < len(spaces):
            before, after = before + spaces[index], after - spaces[index]
    return bounded
