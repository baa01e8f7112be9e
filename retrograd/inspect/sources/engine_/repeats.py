"""Snapshots of graphs equal to that of the step before: only numbers and saved bytes are read again.

Graphs are compared by their outline: classes of nodes, shapes and edges, the leaves themselves, the lines that
made the nodes, and the place in the program from which backward was called.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ....engine.aliasing.history import CopySlices
from ....engine.nodes.accumulate import AccumulateGrad
from ....engine.nodes.node import Port
from ....engine.nodes.opnode import OpNode
from ...program.frames import stack_position
from ...snapshot import EDGE_COLUMNS, NODE_COLUMNS, GraphSnapshot
from ..base import Node, Origins
from .facts import Facts
from .kept_arrays import KeptArrays
from .watching import Walked

_MAX_NODES = 20_000
"""Larger graphs are walked as if they were new, which takes little beside what their nodes take."""
_LASTING = (OpNode, AccumulateGrad, CopySlices)
"""Classes of nodes that are the engine's: their names follow from the class, and they live as long as it."""


_known: set[type] = set()
"""Those that were met."""


def _is_lasting(cls: type) -> bool:
    """Look at a class for the first time."""
    if issubclass(cls, _LASTING):
        _known.add(cls)
        return True
    return False


class Outline(NamedTuple):
    """What tells two graphs apart, and the nodes in the order of a walk."""

    order: list[Node]
    parts: list[Any]
    """For each node its class, what is known of its outputs, and the places of those it leads to."""


@dataclass(slots=True, eq=False)
class _Seen:
    """The snapshot of an earlier step.

    What was found out about it stands in it: another thread may put another snapshot in its place at any moment.
    """

    parts: list[Any]
    leaves: list[tuple[int, weakref.ref[Any]]]
    """With their rows."""
    others: list[int]
    """Rows of the other nodes."""
    place: list[tuple[CodeType, int]]
    snapshot: GraphSnapshot
    kept: KeptArrays
    saved_once: list[float | None]
    """As ``Facts.saved_once``."""
    shifted: tuple[list[int | None], list[int | None]] | None = None
    """Its sequence numbers, once they were asked for, and those of nodes other than leaves among them."""
    pattern: Any = None
    """What its lines and scopes depend on, once they were compared with those of another one."""


def outline_of(roots: list[Node]) -> Outline | None:
    """Walk a graph as ``collect`` does; None where it is large or has nodes that are not the engine's own."""
    places: dict[Node, int] = {}
    for root in roots:
        places.setdefault(root, len(places))
    order = list(places)
    parts: list[Any] = [places[root] for root in roots]
    add = parts.append
    for node in order:  # grows while it is read
        cls = node.__class__
        if (cls not in _known and not _is_lasting(cls)) or len(order) > _MAX_NODES:
            return None
        add(cls)
        add(node._sigs)
        if node.accumulates:
            continue
        for edge in node._edges:
            if edge is None:
                add(None)
                continue
            target, number = (edge.node, edge.nr) if edge.__class__ is Port else (edge, 0)
            place = places.setdefault(target, len(order))
            if place == len(order):
                order.append(target)
            add((place, number) if number else place)
    return Outline(order, parts)


class Repeats:
    """The latest snapshot of one watcher."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None

    def snapshot(self, outline: Outline, frame: FrameType | None, origins: Origins | None) -> Walked | None:
        """The snapshot of a graph that is like the latest; None if it is not."""
        seen, order = self._seen, outline.order
        if seen is None or seen.parts != outline.parts or seen.place != stack_position(frame):
            return None
        for row, reference in seen.leaves:
            if reference() is not order[row].variable:
                return None
        nodes = [order[row] for row in seen.others]
        numbers = [node._number if node._extra is None else node._sequence_nr() for node in nodes]
        seq, first = self._sequence(seen, numbers)
        if not self._made_alike(seen, seq, numbers, origins):
            return None
        saved, saved_once = seen.snapshot.saved_bytes, seen.saved_once
        if not seen.kept.are_those_of(nodes):
            facts = Facts()
            found, saved_once = facts.saved_bytes(order), facts.saved_once
            if saved != found:
                saved = found
        fields = (*_read_same(seen.snapshot), saved, seq, *_read_edges(seen.snapshot))
        snapshot = GraphSnapshot(*fields)
        snapshot.first_seq = first
        return Walked(snapshot, order, saved_once, repeated=True)

    def _sequence(self, seen: _Seen, numbers: list[int]) -> tuple[list[int | None], int]:
        """The column of sequence numbers, the latest snapshot's where it is the same, and what was taken off them."""
        first, known = min(numbers, default=0), seen.snapshot.seq
        shifted = [number - first for number in numbers]
        of, own = seen.shifted or (None, None)
        if of is not known:  # the recording counts them from zero when it gets the snapshot
            own = [known[row] for row in seen.others]
            seen.shifted = (known, own)
        if shifted == own:
            return known, first
        seq: list[int | None] = [None] * len(known)
        for row, number in zip(seen.others, shifted, strict=True):
            seq[row] = number
        return seq, first

    def _made_alike(self, seen: _Seen, seq: list[int | None], numbers: list[int], origins: Origins | None) -> bool:
        """Whether lines and scopes of nodes are those of the latest snapshot, which the new one then shares."""
        if origins is None:
            return True
        pattern = origins.pattern(min(numbers), max(numbers)) if numbers else None
        if pattern is None or pattern != seen.pattern or seq is not seen.snapshot.seq:
            found: list[int | None] = [None] * len(seq)
            for row, number in zip(seen.others, numbers, strict=True):
                found[row] = number
            if origins.find(found) != (seen.snapshot.source, seen.snapshot.scope):
                return False
            seen.pattern = pattern
        return True

    def learn(self, outline: Outline | None, frame: FrameType | None, walked: Walked) -> None:
        """Remember a snapshot, unless leaves in it have no name: these are looked for again."""
        snapshot = walked.snapshot
        rows = [row for row, kind in enumerate(snapshot.kind) if kind == "leaf"]
        self._seen = None
        if outline is not None and all(snapshot.name[row] for row in rows):
            leaves = [(row, weakref.ref(walked.order[row].variable)) for row in rows]
            others = [row for row, kind in enumerate(snapshot.kind) if kind != "leaf"]
            kept = KeptArrays([walked.order[row] for row in others])
            self._seen = _Seen(outline.parts, leaves, others, stack_position(frame), snapshot, kept, walked.saved_once)


_EARLIER = ("engine", "label", *[name for name in NODE_COLUMNS if name not in ("saved_bytes", "seq")])
_read_same: Callable[[GraphSnapshot], tuple[Any, ...]] = attrgetter(*_EARLIER)
"""What two graphs with one outline have in common: of a snapshot's fields those before these two."""
_read_edges: Callable[[GraphSnapshot], tuple[Any, ...]] = attrgetter(*EDGE_COLUMNS, "roots", "root_names")
"""Those behind them."""
