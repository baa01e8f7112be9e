"""Edges between boxes: which cards inside each box are joined, and which edges lead in or out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...fold import Folded
from .groups import Groups

ENTRY, EXIT = -1, -2
"""Ends of a link at its own box: where gradients come in, and where they leave."""

_CUT = -1
"""In place of an output: the line of a value that left the graph."""

LINK_COLUMNS = ("box", "source", "target", "edge", "count")

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Links:
    """One row per pair of cards that are joined inside one box, sorted by box; outputs of one operator are kept apart.

    A card is an atom's number, or the number of atoms plus a box's number.
    """

    box: Ints
    source: Ints
    target: Ints
    edge: Ints
    """The first edge of the folded graph that the link represents."""
    count: Ints
    """How many edges it represents."""
    output: Ints | None = None
    """Which of several outputs of an operator it enters; of pictures not asked."""


def links_of(folded: Folded, groups: Groups, cuts: Collection[int]) -> Links:
    """Return the links of all boxes; ``cuts`` are the edges of the graph that no gradient takes."""
    boxes = np.asarray(groups.of_atom, dtype=np.int64)
    sources = np.asarray(folded.sources, dtype=np.int64)
    targets = np.asarray(folded.targets, dtype=np.int64)
    edges = np.arange(len(sources), dtype=np.int64)
    inside = boxes[sources] == boxes[targets]
    rows = np.stack([boxes[sources], sources, targets, edges], axis=1)[inside & (sources != targets)]
    across = edges[~inside]
    if len(across):
        depths = groups.depths()
        lifted = [row for edge in across.tolist() for row in _lifted(folded, groups, depths, edge)]
        rows = np.concatenate([rows, np.asarray(lifted, dtype=np.int64)])
    last = np.asarray(folded.last_edges, dtype=np.int64)
    outputs = np.asarray(folded.original.edge_output_nr, dtype=np.int64)[last] if len(last) else last
    own = (rows[:, 2] >= 0) & (rows[:, 2] < len(folded))  # edges to a closed box are not distinguished
    cut = np.isin(np.asarray(folded.first_edges, dtype=np.int64), np.asarray(list(cuts), dtype=np.int64))
    return _joined(rows, np.where(cut[rows[:, 3]], _CUT, np.where(own, outputs[rows[:, 3]], 0)))


def _lifted(folded: Folded, groups: Groups, depths: list[int], edge: int) -> Iterator[tuple[int, ...]]:
    """Yield the links of one edge, out of boxes and into others."""
    source, target = folded.sources[edge], folded.targets[edge]
    atoms, parents = len(folded), groups.parents
    upper, lower = groups.of_atom[source], groups.of_atom[target]
    while upper != lower:
        if depths[upper] >= depths[lower]:
            yield upper, source, EXIT, edge
            source, upper = atoms + upper, parents[upper]
        else:
            yield lower, ENTRY, target, edge
            target, lower = atoms + lower, parents[lower]
    yield upper, source, target, edge


def _joined(rows: Ints, outputs: Ints) -> Links:
    """Return rows (box, source, target, edge) with those of equal outputs joined, in the order of their first edges."""
    if not len(rows):
        nothing = np.zeros(0, dtype=np.int64)
        return Links(nothing, nothing, nothing, nothing, nothing, nothing)
    order = np.lexsort((rows[:, 3], outputs, rows[:, 2], rows[:, 1], rows[:, 0]))
    rows, outputs = rows[order], outputs[order]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (rows[1:, :3] != rows[:-1, :3]).any(axis=1) | (outputs[1:] != outputs[:-1])
    starts = np.flatnonzero(fresh)
    counts = np.diff(np.append(starts, len(rows)))
    firsts = rows[starts]
    order = np.lexsort((firsts[:, 3], firsts[:, 0]))
    box, source, target, edge = firsts[order].T
    return Links(box, source, target, edge, counts[order], outputs[starts][order])
