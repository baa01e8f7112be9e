"""Snapshots of graphs equal to that of the step before: only numbers and saved bytes are read again.

Graphs are compared by their outline: classes of nodes, shapes and edges, the leaves themselves, the lines that
made the nodes, and the place in the program from which backward was called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, call, is_
from types import CodeType, FrameType
from typing import Any

from ....program.frames import stack_position
from ....references import Reference
from ....snapshot import EDGE_COLUMNS, NODE_COLUMNS, GraphSnapshot
from ...base import Node, Origins
from ..watching import Walked
from .facts import Facts
from .kept_arrays import KeptArrays
from .outlines import Outline, outline_of


@dataclass(slots=True, eq=False)
class _Seen:
    """The snapshot of an earlier step.

    What was found out about it stands in it: another thread may put another snapshot in its place at any moment.
    """

    outline: Outline
    leaves: list[int]
    """Rows of the leaves, and ``tensors`` what they are."""
    tensors: list[Reference]
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


class Repeats:
    """The latest snapshot of one watcher."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None

    def snapshot(self, roots: list[Node], frame: FrameType | None, origins: Origins | None) -> Walked | None:
        """The snapshot of a graph that is like the latest; None if it is not."""
        seen = self._seen
        order = None if seen is None else seen.outline.order_of(roots)
        if seen is None or order is None or seen.place != stack_position(frame):
            return None
        node_at = order.__getitem__
        if not all(map(is_, map(call, seen.tensors), map(_variable_of, map(node_at, seen.leaves)))):
            return None
        nodes = list(map(node_at, seen.others))
        numbers = _numbers_of(nodes)
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
        snapshot.first_seq, snapshot.classes = first, seen.snapshot.classes
        if origins is not None:
            snapshot.cuts = origins.cuts([None if number is None else number + first for number in seq])
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
            sources, scopes, calls = origins.find(found)
            for row in seen.leaves:  # a parameter stands in its module, whoever uses it
                scopes[row] = seen.snapshot.scope[row]
            if (sources, scopes, calls) != (seen.snapshot.source, seen.snapshot.scope, seen.snapshot.call):
                return False
            seen.pattern = pattern
        return True

    def learn(self, roots: list[Node], frame: FrameType | None, walked: Walked) -> None:
        """Remember a snapshot, unless leaves in it have no name: these are looked for again."""
        snapshot, order = walked.snapshot, walked.order
        rows = [row for row, kind in enumerate(snapshot.kind) if kind == "leaf"]
        self._seen = None
        outline = outline_of(roots, order) if all(snapshot.name[row] for row in rows) else None
        if outline is not None:
            tensors = [Reference(order[row].variable) for row in rows]
            others = [row for row, kind in enumerate(snapshot.kind) if kind != "leaf"]
            kept = KeptArrays([order[row] for row in others])
            place = stack_position(frame)
            self._seen = _Seen(outline, rows, tensors, others, place, snapshot, kept, walked.saved_once)


def _numbers_of(nodes: list[Node]) -> list[int]:
    """The sequence numbers of nodes."""
    if any(map(_extra_of, nodes)):  # which may have a number that was given to it
        return [node._sequence_nr() for node in nodes]
    return list(map(_number_of, nodes))


_variable_of, _extra_of, _number_of = attrgetter("variable"), attrgetter("_extra"), attrgetter("_number")
_EARLIER = ("engine", "label", *[name for name in NODE_COLUMNS if name not in ("saved_bytes", "seq")])
_read_same: Callable[[GraphSnapshot], tuple[Any, ...]] = attrgetter(*_EARLIER)
"""What two graphs with one outline have in common: of a snapshot's fields those before these two."""
_read_edges: Callable[[GraphSnapshot], tuple[Any, ...]] = attrgetter(*EDGE_COLUMNS, "roots", "root_names")
"""Those behind them."""
