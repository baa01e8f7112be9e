"""Splits a drawing that is too tall for the screen into columns ("pages"), cut where few lines pass."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from .bands import Bands
from .base import Size


class Screen(NamedTuple):
    """What a reader sees at once, and what lines that run on in another column cost him."""

    width: float
    height: float
    line: float = 0.25
    """What twice as many lines through a cut cost, in screens."""


SCREEN = Screen(1500.0, 840.0)
"""What a reader sees at once below a caption."""
ALMOST = 1.12
"""Sheets that a drawing may be tall without being cut: scrolling a little is easier than following a turn."""
_TURN = 0.15
"""What a cut costs, in screens."""
_MOST = 12
"""Numbers of pages that are tried; of a drawing that needs more, only the best shape counts."""
_NEVER = 1e6
_SLACKS = (1.05, 1.2, 1.4)
"""How much taller than equal pages the tallest may be, so that cuts move to where few lines pass."""
_BETWEEN = 36.0
"""Width of the corridor between two pages,"""
_HEADROOM = 60.0
"""and what its turns need above and below."""


def cut_into_pages(
    bands: Bands,
    extents: Sequence[tuple[float, float]],
    passing: Sequence[float],
    screen: Screen,
    ports: tuple[int, int],
) -> float:
    """Move the layers of a tall drawing into pages side by side, each starting at the top.

    ``extents`` says how far each layer reaches to the left and right, ``passing`` counts the lines below each, and
    ``ports`` are the layers at the top and bottom that hold nothing but ports, which no page is made of.
    Returns what the cuts cost a reader, in screens.
    """
    costs = _cut_costs(passing, ports, screen.line)
    last_layers = _best_ends(bands, extents, costs, screen)
    start, page = 0.0, 0
    for number, bottom in enumerate(bands.bottoms):
        if page < len(last_layers) and number > last_layers[page]:
            page, start = page + 1, bands.tops[number]
        bands.pages.append(page)
        bands.tops[number], bands.bottoms[number] = bands.tops[number] - start, bottom - start
    return sum(costs[end] for end in last_layers)


def _best_ends(
    bands: Bands, extents: Sequence[tuple[float, float]], costs: Sequence[float], screen: Screen
) -> list[int]:
    """Return the last layer of every page but the last, for the pages that are the easiest to read."""
    height = bands.bottoms[-1] if bands.bottoms else 0.0
    if height <= ALMOST * screen.height:
        return []
    width = _width(extents, 0, len(extents)) + _BETWEEN
    ideal = math.sqrt(height * screen.width / (screen.height * width))
    numbers = range(2, math.ceil(ideal) + 2) if ideal < _MOST else [round(ideal)]
    limits = [height / number * slack for number in numbers for slack in _SLACKS]
    if ideal < _MOST:
        limits += [screen.height * slack - _HEADROOM for slack in (1.0, *_SLACKS)]
    tried = [[], *(_cheapest_ends(bands, limit, costs) for limit in limits)]
    return min(tried, key=lambda ends: _cost(bands, extents, costs, screen, ends))


def _cut_costs(passing: Sequence[float], ports: tuple[int, int], line: float) -> list[float]:
    """Return what a cut below each layer costs; the last layer ends the last page anyway."""
    costs = [_TURN + line * math.log2(max(lines, 1.0)) for lines in passing]
    for number in {*range(ports[0]), len(costs) - 2} if ports[1] else range(ports[0]):
        costs[number] += _NEVER
    costs[-1] = 0.0
    return costs


def _cheapest_ends(bands: Bands, limit: float, costs: Sequence[float]) -> list[int]:
    """Return the last layers of pages of at most this height whose cuts cost least together, in one pass from below.

    ``waiting`` holds the layers that a page may end with, each cheaper than those above it; of equally cheap ones the
    lowest counts, so that the first pages are full.
    """
    count = len(costs)
    total, chosen = [0.0] * (count + 1), [0] * count
    waiting: deque[tuple[float, int]] = deque()
    for first in range(count - 1, -1, -1):
        cost = costs[first] + total[first + 1]
        while waiting and waiting[-1][0] > cost:
            waiting.pop()
        waiting.append((cost, first))
        while len(waiting) > 1 and bands.bottoms[waiting[0][1]] - bands.tops[first] > limit:
            waiting.popleft()
        total[first], chosen[first] = waiting[0]
    ends: list[int] = []
    end = chosen[0]
    while end < count - 1:
        ends.append(end)
        end = chosen[end + 1]
    return ends


def _cost(
    bands: Bands, extents: Sequence[tuple[float, float]], costs: Sequence[float], screen: Screen, ends: list[int]
) -> tuple[float, float]:
    """Return how many screens a drawing cut like this fills the longer way with what its cuts cost; then its height."""
    firsts, lasts = [0, *(end + 1 for end in ends)], [*ends, len(bands.tops) - 1]
    pages = list(zip(firsts, lasts, strict=True))
    tall = max(bands.bottoms[last] - bands.tops[first] for first, last in pages) + (_HEADROOM if ends else 0.0)
    wide = sum(_width(extents, first, last + 1) for first, last in pages) + _BETWEEN * len(ends)
    return fill(wide, tall, screen) + sum(costs[end] for end in ends), tall


def fill(width: float, height: float, screen: Screen | Size) -> float:
    """Return how many screens a drawing fills in its longer direction; all that fit count the same."""
    return max(width / screen.width, height / screen.height, 1.0)


def _width(extents: Sequence[tuple[float, float]], first: int, end: int) -> float:
    """Return how wide some layers are together."""
    layers = extents[first:end]
    return max(max(right for _, right in layers) - min(left for left, _ in layers), 0.0)
