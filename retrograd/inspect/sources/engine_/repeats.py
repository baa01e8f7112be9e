"""Snapshots of graphs equal to that of the step before: only numbers and saved bytes are read again.

Graphs are compared by their outline: classes of nodes, shapes and edges, the leaves themselves, the lines that
made the nodes, and the place in the program from which backward was called.
"""

from __future__ import annotations

import weakref
from operator import attrgetter
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ....engine.aliasing.views import CopySlices
from ....engine.nodes.accumulate import AccumulateGrad
from ....engine.nodes.node import Port
from ....engine.nodes.opnode import OpNode
from ...program.frames import stack_position
from ...snapshot import GraphSnapshot
from ..base import Node, Origins
from .facts import Facts
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


class _Seen(NamedTuple):
    """The snapshot of an earlier step."""

    parts: list[Any]
    leaves: dict[int, weakref.ref[Any]]
    """By place."""
    place: list[tuple[CodeType, int]]
    snapshot: GraphSnapshot


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
        self._pattern: Any = None
        """What its lines and scopes depend on, once they were compared with those of another one."""

    def snapshot(self, outline: Outline, frame: FrameType | None, origins: Origins | None) -> Walked | None:
        """The snapshot of a graph that is like the latest; None if it is not."""
        seen, order = self._seen, outline.order
        if seen is None or seen.parts != outline.parts or seen.place != stack_position(frame):
            return None
        for row, reference in seen.leaves.items():
            if reference() is not order[row].variable:
                return None
        snapshot, facts = GraphSnapshot(**dict(zip(_SAME, _read_same(seen.snapshot), strict=True))), Facts()
        numbers = _numbers(order)
        snapshot.first_seq = first = min([number for number in numbers if number is not None], default=0)
        snapshot.seq = [None if number is None else number - first for number in numbers]
        if snapshot.seq == seen.snapshot.seq:
            snapshot.seq = seen.snapshot.seq
        if not self._made_alike(snapshot, numbers, origins):
            return None
        snapshot.saved_bytes = facts.saved_bytes(order)
        return Walked(snapshot, order, facts.saved_once, repeated=True)

    def _made_alike(self, snapshot: GraphSnapshot, numbers: list[int | None], origins: Origins | None) -> bool:
        """Whether lines and scopes of nodes are those of the latest snapshot, which ``snapshot`` then shares."""
        seen = self._seen
        assert seen is not None
        pattern = _pattern(numbers, origins)
        if pattern is None or pattern != self._pattern or snapshot.seq is not seen.snapshot.seq:
            source, scope = ([], []) if origins is None else origins.find(numbers)
            if origins is not None and (source != seen.snapshot.source or scope != seen.snapshot.scope):
                return False
            self._pattern = pattern
        return True

    def learn(self, outline: Outline | None, frame: FrameType | None, walked: Walked) -> None:
        """Remember a snapshot, unless leaves in it have no name: these are looked for again."""
        snapshot = walked.snapshot
        rows = [row for row, kind in enumerate(snapshot.kind) if kind == "leaf"]
        self._seen = self._pattern = None
        if outline is not None and all(snapshot.name[row] for row in rows):
            leaves = {row: weakref.ref(walked.order[row].variable) for row in rows}
            self._seen = _Seen(outline.parts, leaves, stack_position(frame), snapshot)


_SAME = (
    *("engine", "label", "op", "kind", "name", "scope", "shape", "dtype", "source", "roots", "root_names"),
    *("edge_source", "edge_target", "edge_input_nr", "edge_output_nr"),
)
"""What two graphs with one outline have in common."""
_read_same = attrgetter(*_SAME)


def _pattern(numbers: list[int | None], origins: Origins | None) -> Any:
    """What lines and scopes of nodes with these numbers depend on; None where that is not known."""
    known = [number for number in numbers if number is not None]
    return None if origins is None or not known else origins.pattern(min(known), max(known))


def _numbers(order: list[Node]) -> list[int | None]:
    """Sequence numbers, None for leaves."""
    return [
        None if node.accumulates else node._number if node._extra is None else node._sequence_nr() for node in order
    ]
