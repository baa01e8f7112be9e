"""Finds, from the graph alone, which nodes receive another node's gradient unchanged, and which must be measured.

The gradient that a node passes on is the one that arrives at the next node, unless several are added there. A node that
only reshapes its gradient needs no hook: the next node receives the same entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..graphs.graph import Graph
from .array_values import Array
from .base import Node

_SHAPES = ("T", "View", "UnsafeView", "Transpose", "Permute", "Unsqueeze", "Squeeze", "ReshapeAlias", "Alias")


def _named(*names: str) -> frozenset[str]:
    """Return the names of nodes of these operators."""
    return frozenset(f"{name}Backward{number}" for name in names for number in range(3))


_RESHAPING = _named(*_SHAPES)
"""Nodes that pass on exactly the entries they receive."""
_IDENTICAL = _RESHAPING | _named("Expand", "Clone")
"""Nodes that do so if input and output have equally many entries."""
_PADDING = _named("Select", "Slice")
"""Nodes that pass on what they receive, padded with zeros."""
_ADDING, _SUBTRACTING = _named("Add"), _named("Sub")
"""Nodes that pass on what they receive to each operand of the same shape, to the second one times a factor."""

_MOST_GRAPHS, _MOST_ROWS = 8, 40_000
"""Numbers of cached graphs, and of all their nodes; the latest graph is always cached."""
_Item = TypeVar("_Item")

BY_TARGET, BY_SOURCE, LOOKED_AT = 0, 1, 2
"""How the gradient on an edge is known: as the target's incoming gradient, the source's, or by a hook."""


class Passing(NamedTuple):
    """Facts about one graph before it runs."""

    quiet: frozenset[int]
    """Nodes without a hook."""
    before: dict[int, tuple[int, ...]]
    """Node -> the nodes without a hook that run just before it, in order."""
    measured_by: Array
    """Node -> the node whose incoming gradient has the same entries: itself, if it must be measured."""
    entries: list[int]
    """For each node the number of entries that arrive there; 0 if unknown, or if it need not be measured."""
    ways: Array
    """How the gradient on each edge is known."""
    around: Array
    """Number of padding zeros on each edge."""
    looked_at: dict[int, list[tuple[int, int]]]
    """Node -> positions of the results that must be measured, each with its edge."""
    following: dict[int, int]
    """Leaf that only one node leads to -> the node with a hook right after which it runs."""
    factors: list[tuple[int, float | None]]
    """Nodes of sums, with the factor of the second operand."""
    sooner: list[tuple[int, int]]
    """Pairs of nodes whose first one has the higher number, so that it runs before the second."""


def passing(order: list[Node], snapshot: Graph, loud: Collection[int]) -> Passing:
    """Read a graph; ``loud`` are the nodes at which the program itself may change the incoming gradient."""
    return _Reader(order, snapshot, loud).read()


class _Reader:
    """Reads one graph."""

    def __init__(self, order: list[Node], snapshot: Graph, loud: Collection[int]) -> None:
        self._snapshot, self._loud = snapshot, loud
        self._arriving = np.bincount([*snapshot.edge_target, *snapshot.roots], minlength=len(snapshot)).tolist()
        self._out: list[list[tuple[int, int, int]]] = [[] for _ in snapshot.op]
        """For each node its edges: target, input number there, position."""
        for start, end, position, number in snapshot.edges():
            self._out[start].append((end, number, position))
        adding = [row for row, op in enumerate(snapshot.op) if op in _ADDING]
        self._factors = {row: getattr(order[row], "_saved_alpha", None) for row in adding}
        self._behind: dict[int, int] = {}
        """Node without a hook -> the node that receives what it passes on."""
        self._ends: dict[int, int] = {}
        """The same node -> the next node behind it that has a hook."""
        self._sooner: list[tuple[int, int]] = []

    def read(self) -> Passing:
        """Return the facts."""
        # Last rows first: a row that only one edge leads to comes after that edge's source.
        for row in reversed(range(len(self._snapshot))):
            self._judge(row)
        ends = self._ends
        chains: dict[int, list[int]] = {}
        for row in sorted(ends):
            chains.setdefault(ends[row], []).append(row)
        before = {end: tuple(rows) for end, rows in chains.items()}
        measured_by, ways, around, looked_at = self._edges(ends)
        factors = list(self._factors.items())
        following = self._following(before)
        itself = (measured_by == np.arange(len(measured_by))).tolist()
        entries = [
            math.prod(shape or ()) if mine else 0 for shape, mine in zip(self._snapshot.shape, itself, strict=True)
        ]
        return Passing(
            frozenset(ends), before, measured_by, entries, ways, around, looked_at, following, factors, self._sooner
        )

    def _judge(self, row: int) -> None:
        """Find out whether a node needs no hook: it passes on what it receives, and that is measured behind it."""
        snapshot, out = self._snapshot, self._out[row]
        if len(out) == 1:
            end, number, position = out[0]
            alike = snapshot.op[row] in _RESHAPING or (snapshot.op[row] in _IDENTICAL and self._as_many(row, end))
            if (alike or self._same(row, end, position)) and self._alone(row, end, number):
                self._pass(row, end)
        elif len(out) == 2 and snapshot.op[row] in _ADDING:
            (end, number, position), other = sorted(out, key=lambda edge: self._rank(edge[0]), reverse=True)
            goes_on = snapshot.kind[end] == "op" and self._same(row, end, position) and self._alone(row, end, number)
            if goes_on and self._is_known(row, *other):
                self._pass_first(row, end, other[0])

    def _pass(self, row: int, end: int) -> None:
        """Mark a node as needing no hook; the nodes behind it were judged before."""
        self._behind[row], self._ends[row] = end, self._ends.get(end, end)

    def _pass_first(self, row: int, end: int, other: int) -> None:
        """Mark a node with two edges likewise, if what runs behind one of them runs before the other's end."""
        last = self._ends.get(end, end)
        if self._rank(other) < min(self._rank(end), self._rank(last)):
            self._pass(row, end)
            self._sooner += [(one, other) for one in {end, last} if self._snapshot.kind[one] != "leaf"]

    def _is_known(self, start: int, end: int, number: int, position: int) -> bool:
        """Whether the gradient on an edge is known although its node has no hook."""
        return not number and (self._is_seen(end) or self._passes_on(start, end, position))

    def _is_seen(self, end: int) -> bool:
        """Whether the incoming gradient of a node is what one node passed on, neither added up nor changed."""
        return self._arriving[end] == 1 and end not in self._loud

    def _rank(self, row: int) -> float:
        """Return the priority by which PyTorch runs nodes that are ready, the highest first."""
        number = self._snapshot.seq[row]
        return math.inf if number is None else number

    def _alone(self, start: int, end: int, number: int) -> bool:
        """Whether nothing else arrives behind an edge, of the same dtype, and no hook of the program is in between."""
        dtype = self._snapshot.dtype
        return not number and self._is_seen(end) and dtype[start] == dtype[end]

    def _as_many(self, start: int, end: int) -> bool:
        """Whether input and output have equally many entries."""
        got, given = self._snapshot.shape[start], self._snapshot.shape[end]
        return got is not None and given is not None and math.prod(got) == math.prod(given)

    def _same(self, start: int, end: int, position: int) -> bool:
        """Whether a sum or difference passes on what it receives."""
        op, shape = self._snapshot.op[start], self._snapshot.shape
        if shape[start] is None or shape[start] != shape[end]:
            return False
        if op in _ADDING:
            return position == 0 or self._factors[start] == 1
        return op in _SUBTRACTING and position == 0

    def _edges(self, ends: dict[int, int]) -> tuple[Array, Array, Array, dict[int, list[tuple[int, int]]]]:
        """Set how incoming gradients of nodes and gradients on edges are known."""
        snapshot = self._snapshot
        measured_by = np.arange(len(snapshot))
        ways, around = np.zeros(snapshot.edge_count, np.int8), np.zeros(snapshot.edge_count)
        looked_at: dict[int, list[tuple[int, int]]] = {}
        for edge, (start, end, position, number) in enumerate(snapshot.edges()):
            if not number and self._is_seen(end):
                if self._behind.get(start) != end and self._same(start, end, position) and self._alone(start, end, 0):
                    measured_by[end] = start
            elif not number and self._passes_on(start, end, position):
                ways[edge] = BY_SOURCE
                around[edge] = math.prod(snapshot.shape[end] or ()) - math.prod(snapshot.shape[start] or ())
            else:
                ways[edge] = LOOKED_AT
                looked_at.setdefault(start, []).append((position, edge))
        measured_by[list(ends)] = list(ends.values())
        while (measured_by != measured_by[measured_by]).any():
            measured_by = measured_by[measured_by]
        return measured_by, ways, around, looked_at

    def _passes_on(self, start: int, end: int, position: int) -> bool:
        """Whether a node passes on what it receives, perhaps padded with zeros."""
        op, got, given = self._snapshot.op[start], self._snapshot.shape[start], self._snapshot.shape[end]
        if got is None or given is None or self._snapshot.dtype[start] != self._snapshot.dtype[end]:
            return False
        if op in _PADDING:
            return math.prod(given) >= math.prod(got)
        return op in _RESHAPING or (op in _IDENTICAL and self._as_many(start, end)) or self._same(start, end, position)

    def _following(self, before: dict[int, tuple[int, ...]]) -> dict[int, int]:
        """Return the leaves that run as soon as a node with a hook has run."""
        source = {end: start for start, end, _, _ in self._snapshot.edges() if self._arriving[end] == 1}
        found: dict[int, int] = {}
        for row, kind in enumerate(self._snapshot.kind):
            first = before.get(row, (row,))[0]
            if kind == "leaf" and row not in self._loud and first in source and source[first] not in self._behind:
                found[row] = source[first]
        return found


class _Known(NamedTuple):
    """A graph that was read."""

    columns: list[Any]
    """Those that were read."""
    found: Passing


class LatestPassings:
    """Reads graphs, and caches a few: the steps of a training loop mostly have equal ones, one for each loss."""

    _READ = ("op", "shape", "dtype", "edge_source", "edge_target", "edge_input_nr", "edge_output_nr", "roots")

    def __init__(self) -> None:
        self._known: list[_Known] = []
        """The latest first."""

    def read(self, order: list[Node], snapshot: Graph, loud: Collection[int]) -> Passing:
        """Return what ``passing`` does."""
        columns = [loud, *(getattr(snapshot, name) for name in self._READ)]
        for known in self._known:
            if _are_equal(columns, known.columns) and _holds(known.found, order, snapshot):
                return known.found
        found = passing(order, snapshot, loud)
        self._known = latest_first(_Known(columns, found), self._known, lambda known: len(known.found.entries))
        return found


def latest_first(latest: _Item, others: list[_Item], rows: Callable[[_Item], int]) -> list[_Item]:
    """Put the entry of a graph in front of the others, as long as all together stay small."""
    kept, room = [latest], _MOST_ROWS - rows(latest)
    for one in others[: _MOST_GRAPHS - 1]:
        room -= rows(one)
        if room < 0:
            break
        kept.append(one)
    return kept


def _are_equal(columns: list[Any], known: list[Any]) -> bool:
    """Whether these are the columns that were read; most are the same objects."""
    return all(mine is other or mine == other for mine, other in zip(columns, known, strict=True))


def _holds(found: Passing, order: list[Node], snapshot: Graph) -> bool:
    """Whether sums still have the same factors, and nodes the same order."""
    if any(getattr(order[row], "_saved_alpha", None) != factor for row, factor in found.factors):
        return False
    seq = snapshot.seq
    return all(seq[first] > (seq[second] or 0) for first, second in found.sooner)  # type: ignore[operator]
