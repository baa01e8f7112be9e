"""Where every vertex stands from left to right: near its neighbours, in the order of its layer, lines straight.

Sweeps move every layer toward the vertices above or below it; then each run of vertices that hang straight below
each other (the trunk of a network, the way points of one edge) is put on one vertical where there is room.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .layers import Layered
from .spacing import spread

GAP = 28.0
"""Free space between neighbouring boxes."""
_LINE_GAP = 14.0
"""Free space beside a way point."""
_LIGHT = 1e-4
"""Weight of a vertex that gives way: small enough that the trunk stands still."""


@dataclass(slots=True)
class Placement:
    """The lines of all vertices and how far their boxes reach beside them; wrapped layers are left out of all moves."""

    layered: Layered
    lefts: list[float]
    """Per vertex the distance from its left side to the line through it, which is its middle but for anchors."""
    rights: list[float]
    centres: list[float]
    """Per vertex the place of that line."""
    wrapped: set[int]

    def gap(self, left: int, right: int) -> float:
        """Return the least distance between the centres of two neighbours."""
        nodes = self.layered.nodes
        free = GAP if left < nodes and right < nodes else _LINE_GAP
        return self.rights[left] + self.lefts[right] + free


def place(layered: Layered, lefts: list[float], rights: list[float], wrapped: set[int]) -> list[float]:
    """Return the line of every vertex, ``lefts`` right of its left side; those of ``wrapped`` layers are 0."""
    placement = Placement(layered, lefts, rights, [0.0] * layered.count, wrapped)
    rounds = 3 if layered.count < 20_000 else 1
    _align(placement, downward=True)
    for _ in range(rounds):
        _align(placement, downward=False)
        _align(placement, downward=True)
    for _ in range(rounds):
        _straighten(placement)
    return placement.centres


def _align(placement: Placement, downward: bool) -> None:
    """Move every layer toward its neighbours in the layer before it."""
    layered, centres = placement.layered, placement.centres
    numbers = range(len(layered.layers)) if downward else range(len(layered.layers) - 1, -1, -1)
    neighbours = layered.above if downward else layered.below
    starts, items, light = neighbours.starts, neighbours.items, layered.light
    for number in numbers:
        if number in placement.wrapped:
            continue
        layer = layered.layers[number]
        wishes = []
        for vertex in layer:
            around = items[starts[vertex] : starts[vertex + 1]]
            wishes.append(_pull(around, centres, light) if around else centres[vertex])
        if len(layer) == 1:
            centres[layer[0]] = wishes[0]
            continue
        weights = [_LIGHT if light[vertex] else 1.0 for vertex in layer]
        gaps = [placement.gap(left, right) for left, right in pairwise(layer)]
        for vertex, centre in zip(layer, spread(wishes, weights, gaps), strict=True):
            centres[vertex] = centre


def _pull(around: list[int], centres: list[float], light: bytearray) -> float:
    """Return where neighbours pull a vertex: the mean, in which light ones count for next to nothing."""
    if len(around) == 1:
        return centres[around[0]]
    heavy = [centres[other] for other in around if not light[other]]
    if heavy:
        return sum(heavy) / len(heavy)
    return sum(centres[other] for other in around) / len(around)


def _straighten(placement: Placement) -> None:
    """Put every run of vertices on one vertical, where its neighbours leave room for it."""
    left, right = _neighbours(placement)
    centres = placement.centres
    for run in _runs(placement.layered, placement.wrapped):
        lows = [centres[left[v]] + placement.gap(left[v], v) if left[v] >= 0 else -1e18 for v in run]
        highs = [centres[right[v]] - placement.gap(v, right[v]) if right[v] >= 0 else 1e18 for v in run]
        low, high = max(lows), min(highs)
        wish = sum(centres[vertex] for vertex in run) / len(run)
        if low <= high:
            line = min(max(wish, low), high)
            for vertex in run:
                centres[vertex] = line
            continue
        for vertex, least, most in zip(run, lows, highs, strict=True):
            if least <= most:
                centres[vertex] = min(max(wish, least), most)


def _neighbours(placement: Placement) -> tuple[list[int], list[int]]:
    """Return the left and the right neighbour of every vertex, -1 at the ends of a layer."""
    left, right = [-1] * placement.layered.count, [-1] * placement.layered.count
    for layer in placement.layered.layers:
        for before, after in pairwise(layer):
            right[before] = after
            left[after] = before
    return left, right


def _runs(layered: Layered, wrapped: set[int]) -> list[list[int]]:
    """Return the maximal runs of two or more vertices of which each is the only heavy link of the next."""
    down = [_only_link(layered, vertex, layered.below.of(vertex)) for vertex in range(layered.count)]
    up = [_only_link(layered, vertex, layered.above.of(vertex)) for vertex in range(layered.count)]
    runs = []
    for start in range(layered.count):
        above = up[start]
        if (above >= 0 and down[above] == start) or layered.ranks[start] in wrapped:
            continue
        run = [start]
        while (after := down[run[-1]]) >= 0 and up[after] == run[-1] and layered.ranks[after] not in wrapped:
            run.append(after)
        if len(run) > 1:
            runs.append(run)
    return runs


def _only_link(layered: Layered, vertex: int, around: list[int]) -> int:
    """Return the one neighbour that a vertex should stand in line with, or -1 if several have an equal claim."""
    light = layered.light
    # Way points of skip connections keep in line among themselves; they do not claim their ends.
    if light[vertex]:
        ours = [other for other in around if other >= layered.nodes or len(around) == 1]
    else:
        ours = [other for other in around if not light[other]] or around
    return ours[0] if len(ours) == 1 else -1
