"""Reuses the snapshot of the previous step for an equal graph: only numbers and saved bytes are read again.

Graphs are compared by their outline: classes of nodes, shapes and edges, the leaves themselves, the lines that
made the nodes, and the program's position when it called backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, compress, count, repeat
from operator import attrgetter, call, is_, is_not
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .....engine.calls.history import CopySlices
from .....engine.execution.accumulate import AccumulateGrad
from .....engine.nodes.node import Port
from .....engine.nodes.opnode import OpNode
from .....engine.tensors.parameter import Parameter
from .....engine.tensors.tensor import Tensor
from ....graphs.graph import EDGE_COLUMNS, NODE_COLUMNS, Graph
from ....program.frames import stack_position
from ....references import Reference
from ...base import Node, Origins
from ..calls.saved import readers
from ..watching import Walked
from .facts import NO_ARRAYS, Facts, memory_of

# The outline of a graph: the classes of nodes, shapes and edges by which two graphs are compared.
#
# Only the part that new nodes lead to is walked; the rest is compared as whole lists, in C. Making an outline
# of every graph would take six times as long.

MAX_NODES = 20_000
"""Larger graphs have no outline: reading their nodes takes longer than walking them."""
_LASTING = (OpNode, AccumulateGrad, CopySlices)
"""Classes of the engine's own nodes: they determine the name, and are never freed."""
_known: set[type] = set()
"""Classes that were checked."""
_sigs_of = attrgetter("_sigs")


class Outline:
    """The outline of one graph, without references to its nodes."""

    __slots__ = ("_classes", "_first", "_numbers", "_sigs", "_steps")

    def __init__(self, roots: Sequence[Node], order: list[Node]) -> None:
        """``order`` lists the nodes as a breadth-first walk from the roots reaches them."""
        self._classes, self._sigs = list(map(type, order)), list(map(_sigs_of, order))
        ends = list(roots)
        self._steps: list[tuple[int, int]] = []
        """For each inner node: its first position, and how many ends its edges have."""
        numbers: list[tuple[int, int]] = []
        places: dict[Node, int] = {}
        for node in order:
            _follow(node, ends, numbers)
        for place, end in enumerate(ends):
            places.setdefault(end, place)
        behind = len(roots)
        for node in order:
            if not node.accumulates:
                behind += len(node._edges)
                self._steps.append((places[node], behind))
        self._first = first_places(ends)
        self._numbers = numbers or None
        """Ends at one of several outputs of a node, with the output number; None for a graph without them."""

    def order_of(self, roots: Sequence[Node]) -> list[Node] | None:
        """Return the nodes of a graph with this outline in walk order; None for a graph with another outline."""
        ends = list(roots)
        numbers: list[tuple[int, int]] | None = None if self._numbers is None else []
        try:
            for place, behind in self._steps:
                if numbers is None:
                    ends += ends[place]._edges
                else:
                    _follow(ends[place], ends, numbers)
                if len(ends) != behind:
                    return None
        except (AttributeError, IndexError):  # there is no node
            return None
        found = dict.fromkeys(ends)
        found.pop(None, None)
        order = list(found)
        same = list(map(type, order)) == self._classes and list(map(_sigs_of, order)) == self._sigs
        return order if same and numbers == self._numbers and first_places(ends) == self._first else None


def outline_of(roots: Sequence[Node], order: list[Node]) -> Outline | None:
    """Return the outline of a graph; None if it is large or has nodes that are not the engine's own."""
    if len(order) > MAX_NODES or not all(map(_is_lasting, set(map(type, order)))):
        return None
    return Outline(roots, order)


def first_places(things: list[Any]) -> list[int]:
    """Return the position of each object's first occurrence; -1 for None."""
    places: dict[Any, int] = {None: -1}
    return list(map(places.setdefault, things, count()))


def _follow(node: Node, ends: list[Any], numbers: list[tuple[int, int]]) -> None:
    """Append the targets of a node's edges, and note their output numbers."""
    for edge in node._edges:
        if edge.__class__ is Port:
            numbers.append((len(ends), edge.nr))
            ends.append(edge.node)
        else:
            ends.append(edge)


def _is_lasting(cls: type) -> bool:
    """Whether a class is the engine's own."""
    if cls not in _known and issubclass(cls, _LASTING):
        _known.add(cls)
    return cls in _known


_TENSORS = (Tensor, Parameter)
_ARRAYS = (np.ndarray, np.generic)
_nbytes, _array_of, _base_of = attrgetter("nbytes"), attrgetter("_array"), attrgetter("base")


class KeptArrays:
    """A pattern of saved values: their classes, the sizes of arrays, and which share memory.

    All is read and compared column by column; adding up the bytes of each node takes four times as long.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._readers = [readers[node.__class__] for node in nodes if hasattr(node, "edge_0")]
        values = self._values(nodes) if len(self._readers) == len(nodes) else [None, ...]
        self._classes = list(map(type, values))
        self._tensors = [place for place, sort in enumerate(self._classes) if sort in _TENSORS]
        self._arrays = [place for place, sort in enumerate(self._classes) if issubclass(sort, _ARRAYS)]
        others = {*self._classes}.difference(_TENSORS, NO_ARRAYS)
        self._known = all(issubclass(sort, _ARRAYS) for sort in others)
        """Whether all values are of classes whose arrays are known."""
        self._pattern = self._pattern_of(values)

    def _values(self, nodes: Sequence[Node]) -> list[Any]:
        return list(chain.from_iterable(map(call, self._readers, nodes)))

    def _pattern_of(self, values: list[Any]) -> tuple[list[int], ...]:
        """Return the bytes of each array, and the first position of each array and of each memory."""
        value_at = values.__getitem__
        arrays = [*map(_array_of, map(value_at, self._tensors)), *map(value_at, self._arrays)]
        ids = list(map(id, arrays))
        by_array = by_memory = first_places(ids)
        borrowing = list(compress(count(), map(is_not, map(_base_of, arrays), repeat(None))))
        if borrowing:
            for place in borrowing:
                ids[place] = id(memory_of(arrays[place]))
            by_memory = first_places(ids)
        return list(map(_nbytes, arrays)), by_array, by_memory

    def are_those_of(self, nodes: Sequence[Node]) -> bool:
        """Whether nodes of the same classes save values of the same pattern."""
        if not self._known:
            return False
        values = self._values(nodes)
        return list(map(type, values)) == self._classes and self._pattern_of(values) == self._pattern


@dataclass(slots=True, eq=False)
class _Seen:
    """The graph of an earlier step.

    It holds all that is cached about the graph, since another thread may replace it at any moment.
    """

    outline: Outline
    leaves: list[int]
    """Indices of the leaves, with ``tensors``."""
    tensors: list[Reference]
    others: list[int]
    """Indices of the other nodes."""
    place: list[tuple[CodeType, int]]
    snapshot: Graph
    kept: KeptArrays
    saved_once: list[float | None]
    """As ``Facts.saved_once``."""
    shifted: tuple[list[int | None], list[int | None]] | None = None
    """Its sequence numbers, once computed, and those of nodes other than leaves."""
    pattern: Any = None
    """Key of its lines and scopes, once compared with another graph's."""


class Repeats:
    """The latest snapshot of one watcher."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None

    def snapshot(self, roots: list[Node], frame: FrameType | None, origins: Origins | None) -> Walked | None:
        """Return the snapshot of a graph that equals the latest one; None if it does not."""
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
        if not self._made_equally(seen, seq, numbers, origins):
            return None
        saved, saved_once = seen.snapshot.saved_bytes, seen.saved_once
        if not seen.kept.are_those_of(nodes):
            facts = Facts()
            found, saved_once = facts.saved_bytes(order), facts.saved_once
            if saved != found:
                saved = found
        fields = (*_read_same(seen.snapshot), saved, seq, *_read_edges(seen.snapshot))
        snapshot = Graph(*fields)
        snapshot.first_seq, snapshot.classes = first, seen.snapshot.classes
        if origins is not None:
            snapshot.cuts = origins.cuts([None if number is None else number + first for number in seq])
        return Walked(snapshot, order, saved_once, repeated=True)

    def _sequence(self, seen: _Seen, numbers: list[int]) -> tuple[list[int | None], int]:
        """Return the column of sequence numbers, shared if equal, and what was subtracted from them."""
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

    def _made_equally(self, seen: _Seen, seq: list[int | None], numbers: list[int], origins: Origins | None) -> bool:
        """Whether lines and scopes of the nodes equal those of the latest graph, which the new one then shares."""
        if origins is None:
            return True
        pattern = origins.pattern(min(numbers), max(numbers)) if numbers else None
        if pattern is None or pattern != seen.pattern or seq is not seen.snapshot.seq:
            found: list[int | None] = [None] * len(seq)
            for row, number in zip(seen.others, numbers, strict=True):
                found[row] = number
            sources, scopes, calls = origins.find(found)
            for row in seen.leaves:  # a parameter belongs to its module, wherever it is used
                scopes[row] = seen.snapshot.scope[row]
            if (sources, scopes, calls) != (seen.snapshot.source, seen.snapshot.scope, seen.snapshot.call):
                return False
            seen.pattern = pattern
        return True

    def learn(self, roots: list[Node], frame: FrameType | None, walked: Walked) -> None:
        """Remember a snapshot, unless it has leaves without a name, which are searched for again."""
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
_read_same: Callable[[Graph], tuple[Any, ...]] = attrgetter(*_EARLIER)
"""Reads the fields that graphs with one outline share: of a snapshot's fields those before these two."""
_read_edges: Callable[[Graph], tuple[Any, ...]] = attrgetter(*EDGE_COLUMNS, "roots", "root_names")
"""Reads the edge columns."""
