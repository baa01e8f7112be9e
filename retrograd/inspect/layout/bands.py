"""Vertical positions of layers: rows of very wide layers, gaps, and columns ("pages") of very deep graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from .base import Size
from .coordinates import GAP
from .layers import Layered

_WIDEST = 4000.0
"""Layers wider than this (or than a square of the whole area) are wrapped into rows."""
_ROW_GAP = 44.0
_GAP = 36.0
"""Space between two layers: an edge's label and an arrow head."""
_BELOW_PORTS = 8.0
_ABOVE_PORTS = 22.0
"""The same beside ports: lines that enter a frame have no label there, lines that leave it go straight on."""


@dataclass(slots=True)
class Grid:
    """The cells of one wrapped layer, filled column by column so that left and right keep their meaning."""

    rows: int
    columns: int
    cell: float
    """Width of a column with its gutter."""
    row_height: float

    def place(self, index: int) -> tuple[int, float]:
        """Return row and centre (relative to the middle of the drawing) of the cell with this number."""
        column, row = divmod(index, self.rows)
        return row, (column - (self.columns - 1) / 2) * self.cell

    def gutter(self, x: float) -> float:
        """Return the middle of the gutter right of a cell's centre, or nearest to any other place."""
        left = -self.columns / 2 * self.cell
        number = min(max(math.ceil((x - left) / self.cell - 0.25), 0), self.columns)
        return left + number * self.cell


@dataclass(slots=True)
class Bands:
    """Vertical places: per layer top, bottom and page, per vertex its row in a wrapped layer."""

    tops: list[float]
    bottoms: list[float]
    pages: list[int]
    grids: dict[int, Grid]
    rows: dict[int, int] = field(default_factory=dict)
    """Row of every node of a wrapped layer."""


def wrapped_layers(layered: Layered, sizes: Sequence[Size]) -> dict[int, Grid]:
    """Return the grids of the layers that are too wide for one row."""
    area = sum((size.width + GAP) * (size.height + _ROW_GAP) for size in sizes)
    limit = max(_WIDEST, 1.6 * math.sqrt(area))
    grids = {}
    for number, layer in enumerate(layered.layers):
        if len(layer) * GAP > limit or sum(sizes[v].width + GAP for v in layer if v < layered.nodes) > limit:
            grids[number] = _grid([sizes[v] for v in layer if v < layered.nodes], limit)
    return grids


def _grid(sizes: list[Size], limit: float) -> Grid:
    """Return the grid that holds cards of these sizes within a width."""
    if not sizes:
        return Grid(1, 1, GAP, 0.0)
    cell = max(size.width for size in sizes) + GAP
    columns = min(len(sizes), max(1, int(limit / cell)))
    rows = -(-len(sizes) // columns)
    return Grid(rows, -(-len(sizes) // rows), cell, max(size.height for size in sizes) + _ROW_GAP)


def stack(
    layered: Layered, sizes: Sequence[Size], anchors: Sequence[float], centres: list[float], grids: dict[int, Grid]
) -> Bands:
    """Place all layers below each other; wrapped ones also set the ``centres`` of their vertices."""
    bands = Bands([], [], [], grids)
    y = 0.0
    for number, layer in enumerate(layered.layers):
        if number in grids:
            height = _fill(layered, number, grids[number], centres, bands.rows)
            for vertex in layer:
                if vertex < layered.nodes:
                    centres[vertex] += anchors[vertex] - sizes[vertex].width / 2
        else:
            height = max((sizes[vertex].height for vertex in layer if vertex < layered.nodes), default=0.0)
        bands.tops.append(y)
        bands.bottoms.append(y + height)
        y += height + _gap_below(layered, number, centres)
    return bands


def _fill(layered: Layered, number: int, grid: Grid, centres: list[float], rows: dict[int, int]) -> float:
    """Put the vertices of a wrapped layer into its grid, way points into its gutters; return its height."""
    index = 0
    for vertex in layered.layers[number]:
        if vertex < layered.nodes:
            rows[vertex], centres[vertex] = grid.place(index)
            index += 1
        else:
            above = layered.above.of(vertex)
            centres[vertex] = grid.gutter(centres[above[0]] if above else 0.0)
    return grid.rows * grid.row_height - _ROW_GAP if index else 0.0


def _gap_below(layered: Layered, number: int, centres: list[float]) -> float:
    """Return the space below a layer: more where lines run far sideways, less beside ports."""
    starts, items = layered.below.starts, layered.below.items
    farthest = 0.0
    for vertex in layered.layers[number]:
        for other in items[starts[vertex] : starts[vertex + 1]]:
            reach = abs(centres[vertex] - centres[other])
            if reach > farthest:
                farthest = reach
    least = _GAP
    if layered.tops and not number:
        least = _BELOW_PORTS
    elif layered.bottoms and number == len(layered.layers) - 2 and farthest < 1.0:
        least = _ABOVE_PORTS
    return least + min(44.0, farthest * 0.05)
