"""What a graph alone tells of its gradients: which node gets what another one got, and whose results must be looked at.

What a node passes on is what arrives at the node behind it, unless several results add up there.  A node that only
gives its gradient another shape needs no hook at all: the node behind it gets the same entries.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ..snapshot import GraphSnapshot
from .array_values import Array
from .base import Node

_SHAPES = ("T", "View", "UnsafeView", "Transpose", "Permute", "Unsqueeze", "Squeeze", "ReshapeAlias", "Alias")


def _named(*names: str) -> frozenset[str]:
    """Return the names of nodes of these operators."""
    return frozenset(f"{name}Backward{number}" for name in names for number in range(3))


_RESHAPING = _named(*_SHAPES)
"""Nodes that pass on every entry they get, and nothing else."""
_PASSING = _RESHAPING | _named("Expand", "Clone", "Add", "Sub")
"""Nodes that may pass on the very memory they get; whether one did is seen when it arrives."""
_PADDING = _named("Select", "Slice")
"""Nodes that pass on what they get with zeros around it."""
_ADDING = _named("Add")

BY_TARGET, BY_SOURCE, LOOKED_AT = 0, 1, 2
"""How it is known what went over an edge: as what arrived behind it, as what its node got, or by a hook."""


class Passing(NamedTuple):
    """What is known of one graph before it runs."""

    quiet: dict[int, int]
    """Row of a node without a hook -> the row behind it where the entries that it passes on are looked at."""
    quiet_before: dict[int, tuple[int, ...]]
    """Row where they are -> the rows of the nodes without a hook before it, in the order in which they run."""
    source: dict[int, int]
    """Row -> the only row from which something arrives there, if that may pass on the memory it gets."""
    ways: Array
    """How it is known what goes over each edge."""
    around: Array
    """How many zeros are around what goes over each edge."""
    looked_at: dict[int, list[tuple[int, int]]]
    """Row -> positions of the results that must be looked at, each with the number of its edge."""
    factors: list[tuple[int, float | None]]
    """Rows of nodes that may scale what they pass on, with the factor that was found there."""


def passing(order: list[Node], shot: GraphSnapshot, loud: Collection[int]) -> Passing:
    """Read a graph; in ``loud`` are the rows at which the program itself may change what arrives."""
    arriving = np.bincount([*shot.edge_target, *shot.roots], minlength=len(shot)).tolist()
    behind = _quiet(shot, arriving, loud)
    found = Passing({}, {}, {}, np.zeros(shot.edge_count, np.int8), np.zeros(shot.edge_count), {}, [])
    for edge, (start, end, position, number) in enumerate(shot.edges()):
        if not number and arriving[end] == 1:
            source = found.source.get(start) if start in behind else start
            if source is not None and (start in behind or shot.op[start] in _PASSING):
                found.source[end] = source
        elif not number and _tells(order[start], start, end, shot, found.factors):
            found.ways[edge] = BY_SOURCE
            found.around[edge] = math.prod(shot.shape[end] or ()) - math.prod(shot.shape[start] or ())
        else:
            found.ways[edge] = LOOKED_AT
            found.looked_at.setdefault(start, []).append((position, edge))
    for row in sorted(behind, reverse=True):  # a row that only one edge leads to comes after that edge's source
        end = found.quiet[row] = found.quiet.get(behind[row], behind[row])
        found.quiet_before[end] = (row, *found.quiet_before.get(end, ()))
    return found


class LastPassing:
    """Reads graphs, and remembers the last one: the steps of a training loop mostly have equal graphs."""

    _READ = ("op", "shape", "dtype", "edge_source", "edge_target", "edge_input_nr", "edge_output_nr", "roots")

    def __init__(self) -> None:
        self._columns: list[Any] = []
        self._found: Passing | None = None

    def read(self, order: list[Node], shot: GraphSnapshot, loud: Collection[int]) -> Passing:
        """Return what ``passing`` does."""
        columns = [loud, *(getattr(shot, name) for name in self._READ)]
        found = self._found
        if found is None or not self._is_equal(columns) or any(_factor(order[row]) != n for row, n in found.factors):
            found = self._found = passing(order, shot, loud)
            self._columns = columns
        return found

    def _is_equal(self, columns: list[Any]) -> bool:
        """Whether these are the columns that were read; most are the same objects."""
        return all(mine is known or mine == known for mine, known in zip(columns, self._columns, strict=True))


def _quiet(shot: GraphSnapshot, arriving: list[int], loud: Collection[int]) -> dict[int, int]:
    """Return the rows that need no hook, with the row that each passes everything on to."""
    leaving = np.bincount(shot.edge_source, minlength=len(shot)).tolist()
    return {
        start: end
        for start, end, _, number in shot.edges()
        if shot.op[start] in _RESHAPING
        and leaving[start] == arriving[end] == 1
        and not number
        and end not in loud
        and shot.dtype[start] == shot.dtype[end]
    }


def _tells(node: Node, start: int, end: int, shot: GraphSnapshot, factors: list[tuple[int, float | None]]) -> bool:
    """Whether a node passes on what it gets, perhaps with zeros around it."""
    op, got, given = shot.op[start], shot.shape[start], shot.shape[end]
    if got is None or given is None or shot.dtype[start] != shot.dtype[end]:
        return False
    if op in _RESHAPING:
        return True
    if op in _PADDING:
        return math.prod(given) >= math.prod(got)
    if op not in _ADDING or got != given:
        return False
    factors.append((start, _factor(node)))
    return factors[-1][1] == 1


def _factor(node: Node) -> float | None:
    """Return what a sum multiplies its second operand by."""
    return getattr(node, "_saved_alpha", None)
