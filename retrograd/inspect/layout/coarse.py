"""A simple layout for graphs too large to read card by card: layers cut into rows, rows stacked into columns.

It takes very little time (a few array operations after ranking) and routes no edges: at this size a picture shows where
a graph is deep, wide and dense, and reading starts after zooming in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Size
from .ranks import longest_path_ranks

_GAP_X, _GAP_Y = 18.0, 34.0
_COLUMN_GAP = 90.0
_MARGIN = 24.0
_SHAPE = 1.6
"""Width of the drawing over its height, about that of a screen."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Coarse(NamedTuple):
    """Top left corners of all cards, and the room they take."""

    x: Floats
    y: Floats
    width: float
    height: float


def layout(sizes: Sequence[Size], sources: Sequence[int], targets: Sequence[int]) -> Coarse:
    """Place cards of the given sizes; all links point downward but for those of a cycle and of a new column."""
    count = len(sizes)
    ranks = np.asarray(longest_path_ranks(count, sources, targets), dtype=np.int64)
    widths, heights = np.asarray(sizes, dtype=np.float64).reshape(count, 2).T
    cell, step = float(widths.max()) + _GAP_X, float(heights.max()) + _GAP_Y
    longest = max(8, int(math.sqrt(count * step * _SHAPE / cell)))
    rows, places, lengths = _rows(ranks, _order(ranks, sources, targets), longest)
    columns, tops, lefts, width, height = _columns(lengths, cell, step)
    middle = (np.diff(np.append(lefts, width + _COLUMN_GAP))[columns[rows]] - _COLUMN_GAP) / 2
    centres = lefts[columns[rows]] + middle + (places - (lengths[rows] - 1) / 2) * cell
    return Coarse(
        np.round(centres - widths / 2 + _MARGIN), tops[rows] + _MARGIN, width + 2 * _MARGIN, height + 2 * _MARGIN
    )


def _order(ranks: Ints, sources: Sequence[int], targets: Sequence[int]) -> Ints:
    """Return all nodes by layer, and inside a layer by the position of their first predecessor in the walk."""
    first = np.arange(len(ranks), dtype=np.int64)
    if len(sources):
        np.minimum.at(first, np.asarray(targets, dtype=np.int64), np.asarray(sources, dtype=np.int64))
    return np.lexsort((first, ranks))


def _rows(ranks: Ints, order: Ints, longest: int) -> tuple[Ints, Floats, Ints]:
    """Cut layers into rows; return every node's row, its place in the row, and every row's length."""
    per_layer = np.bincount(ranks)
    row_counts = -(-per_layer // longest)
    starts = np.concatenate(([0], np.cumsum(per_layer)[:-1]))
    first_rows = np.concatenate(([0], np.cumsum(row_counts)[:-1]))
    index = np.arange(len(order)) - starts[ranks[order]]
    row_lengths = -(-per_layer // row_counts)
    rows, places = np.empty(len(order), dtype=np.int64), np.empty(len(order))
    rows[order] = first_rows[ranks[order]] + index // row_lengths[ranks[order]]
    places[order] = index % row_lengths[ranks[order]]
    return rows, places, np.bincount(rows)


def _columns(lengths: Ints, cell: float, step: float) -> tuple[Ints, Floats, Floats, float, float]:
    """Stack rows into columns of equal height; return each row's column and top, each column's left, the room."""
    count = len(lengths)
    tall = max(1, int(math.sqrt(count * float(lengths.mean()) * cell / (step * _SHAPE))))
    while True:
        number = -(-count // tall)
        columns = np.arange(count) // tall
        widest = np.maximum.reduceat(lengths, np.arange(0, count, tall)) * cell
        width = float(widest.sum()) + _COLUMN_GAP * (number - 1)
        # One wide row makes its whole column wide; then fewer, taller columns are nearer to a screen's shape.
        if number == 1 or width <= 2 * _SHAPE * tall * step:
            break
        tall = -(-tall * 3 // 2)
    lefts = np.concatenate(([0.0], np.cumsum(widest + _COLUMN_GAP)[:-1]))
    tops = (np.arange(count) % tall) * step
    return columns, tops.astype(np.float64), lefts, width, min(count, tall) * step
