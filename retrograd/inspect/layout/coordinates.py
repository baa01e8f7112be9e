"""Horizontal positions of vertices: near their neighbours, in layer order, with straight lines.

Sweeps move every layer toward the vertices above or below it. Then each run of vertices that are straight below each
other (the trunk of a network, the way points of one edge) is moved to one vertical where there is room.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ..progress import followed, tick
from .layers import Layered
from .ranks import Adjacency
from .spacing import spread

GAP = 28.0
"""Free space between neighbouring boxes."""
_LINE_GAP = 14.0
"""Free space beside a way point."""
_LIGHT = 1e-4
"""Weight of a vertex that gives way: small enough that the trunk does not move."""


@dataclass(slots=True)
class Placement:
    """The lines of all vertices and the room between neighbours; wrapped layers are left out of all moves."""

    layered: Layered
    centres: list[float]
    """Per vertex the place of its line."""
    wrapped: set[int]
    gaps: list[list[float]]
    """Per layer the least distances between the lines of neighbours."""
    weights: list[list[float]]
    """Per layer the weights of its vertices."""


def place(layered: Layered, lefts: list[float], rights: list[float], wrapped: set[int]) -> list[float]:
    """Return the line of every vertex, ``lefts`` right of its left side; those of ``wrapped`` layers are 0.

    A line runs through the middle of a box, but for anchors; ``rights`` is what the box reaches beyond it.
    """
    gaps = [_gaps(layer, layered.nodes, lefts, rights) for layer in layered.layers]
    weights = [[_LIGHT if layered.light[vertex] else 1.0 for vertex in layer] for layer in layered.layers]
    placement = Placement(layered, [0.0] * layered.count, wrapped, gaps, weights)
    rounds = 3 if layered.count < 20_000 else 1
    _align(placement, downward=True)
    for _ in range(rounds):
        _align(placement, downward=False)
        _align(placement, downward=True)
    tick()
    straightener = _Straightener(placement)
    for _ in range(rounds):
        straightener.run()
    return placement.centres


def _gaps(layer: list[int], nodes: int, lefts: list[float], rights: list[float]) -> list[float]:
    """Return the least distances between the lines of the neighbours of one layer."""
    return [
        rights[left] + lefts[right] + (GAP if left < nodes and right < nodes else _LINE_GAP)
        for left, right in pairwise(layer)
    ]


def _align(placement: Placement, downward: bool) -> None:
    """Move every layer toward its neighbours in the layer before it."""
    layered, centres = placement.layered, placement.centres
    numbers = range(len(layered.layers)) if downward else range(len(layered.layers) - 1, -1, -1)
    neighbours = layered.above if downward else layered.below
    starts, items, light = neighbours.starts, neighbours.items, layered.light
    for number in followed(numbers):
        if number in placement.wrapped:
            continue
        layer = layered.layers[number]
        wishes = []
        for vertex in layer:
            first, end = starts[vertex], starts[vertex + 1]
            if end - first == 1:
                wishes.append(centres[items[first]])
            else:
                wishes.append(_pull(items[first:end], centres, light) if end > first else centres[vertex])
        if len(layer) == 1:
            centres[layer[0]] = wishes[0]
            continue
        places = spread(wishes, placement.weights[number], placement.gaps[number])
        for vertex, centre in zip(layer, places, strict=True):
            centres[vertex] = centre


def _pull(around: list[int], centres: list[float], light: bytearray) -> float:
    """Return where several neighbours pull a vertex: the mean, in which light ones count for next to nothing."""
    heavy = [centres[other] for other in around if not light[other]]
    if heavy:
        return sum(heavy) / len(heavy)
    return sum([centres[other] for other in around]) / len(around)


class _Straightener:
    """Puts every run of vertices on one vertical, where its neighbours leave room for it."""

    def __init__(self, placement: Placement) -> None:
        layered = placement.layered
        self.centres = placement.centres
        self.left, self.right = [-1] * layered.count, [-1] * layered.count
        """The neighbours of every vertex, -1 at the ends of a layer,"""
        self.left_gap, self.right_gap = [0.0] * layered.count, [0.0] * layered.count
        """and the least distances to them."""
        for layer, gaps in zip(layered.layers, placement.gaps, strict=True):
            for before, after, gap in zip(layer, layer[1:], gaps, strict=False):
                self.right[before], self.left[after] = after, before
                self.right_gap[before] = self.left_gap[after] = gap
        self.runs = _runs(layered, placement.wrapped)

    def run(self) -> None:
        """Move all runs once."""
        centres, left, right = self.centres, self.left, self.right
        left_gap, right_gap = self.left_gap, self.right_gap
        for run in followed(self.runs):
            lows = [centres[left[v]] + left_gap[v] if left[v] >= 0 else -1e18 for v in run]
            highs = [centres[right[v]] - right_gap[v] if right[v] >= 0 else 1e18 for v in run]
            low, high = max(lows), min(highs)
            wish = sum([centres[vertex] for vertex in run]) / len(run)
            if low <= high:
                line = min(max(wish, low), high)
                for vertex in run:
                    centres[vertex] = line
                continue
            for vertex, least, most in zip(run, lows, highs, strict=True):
                if least <= most:
                    centres[vertex] = min(max(wish, least), most)


def _runs(layered: Layered, wrapped: set[int]) -> list[list[int]]:
    """Return the maximal runs of two or more vertices of which each is the only heavy link of the next."""
    down, up = _only_links(layered, layered.below), _only_links(layered, layered.above)
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


def _only_links(layered: Layered, neighbours: Adjacency) -> list[int]:
    """Return for each vertex the one neighbour on one side with which it should be aligned, or -1."""
    starts, items = neighbours.starts, neighbours.items
    found = []
    for vertex in range(layered.count):
        first, end = starts[vertex], starts[vertex + 1]
        found.append(_only_link(layered, vertex, items[first:end]) if end > first else -1)
    return found


def _only_link(layered: Layered, vertex: int, around: list[int]) -> int:
    """Return the one neighbour with which a vertex should be aligned, or -1 if several have an equal claim."""
    light = layered.light
    # Way points of skip connections keep in line among themselves; they do not claim their ends.
    if light[vertex]:
        ours = [other for other in around if other >= layered.nodes or len(around) == 1]
    else:
        ours = [other for other in around if not light[other]] or around
    return ours[0] if len(ours) == 1 else -1
