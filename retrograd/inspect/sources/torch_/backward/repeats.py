"""Reuses the snapshot of an earlier graph from the same position of the program: only numbers are read again.

Graphs are compared by classes of nodes, edges, shapes, the leaves themselves, and the place from which backward was
called; a step with several losses has several.  Only shapes and dtypes that do not follow from others are read
(``determined``).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from operator import attrgetter, call, is_, itemgetter, methodcaller, sub
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ....graphs.graph import Graph
from ....program.frames import stack_position
from ....recording.tensor_table import TensorTable
from ....references import Reference
from ...base import Node, Origins
from ...naming import add_origins
from .determined import Questions, questions

_MAX_NODES = 20_000
"""Larger graphs are always walked: reading their nodes takes longer than that."""
_MAX_PLACES = 8
"""Number of positions with a cached snapshot."""
_SAME = (
    *("engine", "op", "kind", "name", "shape", "dtype", "saved_bytes", "roots", "root_names"),
    *("edge_source", "edge_target", "edge_input_nr", "edge_output_nr"),
)
"""Columns that two graphs with one outline share."""
_ORIGINS = ("source", "scope", "call", "classes")
_NODE, _NUMBER = itemgetter(0), itemgetter(1)
_sequence_nr = methodcaller("_sequence_nr")
_variable, _sort = attrgetter("variable"), attrgetter("dtype", "shape")
Place = list[tuple[CodeType, int]]
"""The position of the user's program: code and instruction of each frame, innermost first."""


class _Outline(NamedTuple):
    """Nodes and edges of a graph, in a form that is quickly compared with another graph."""

    roots: list[int]
    met: list[tuple[int, ...]]
    """For each node which of its edges lead to nodes that a walk meets for the first time."""
    classes: list[int]
    """Identities of the nodes' classes, so that a class of the user's can be freed."""
    lengths: list[int]
    """How many edges each node has."""
    targets: list[int]
    """Targets of edges, -1 for none."""
    inputs: list[int]
    """Input numbers at the targets."""

    def edges(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield start, end (-1 for nowhere), position and number of the input of each edge."""
        ends = zip(self.targets, self.inputs, strict=True)
        for row, length in enumerate(self.lengths):
            for position, (end, number) in enumerate(islice(ends, length)):
                yield row, end, position, number

    def follow(self, roots: Sequence[Node]) -> list[Node] | None:
        """Walk a graph; return its nodes in the order of ``collect`` if it has this outline."""
        places = {root: place for place, root in enumerate(dict.fromkeys(roots))}
        order, edges = list(places), list[tuple[tuple[Node | None, int], ...]]()
        meet, note = order.append, edges.append
        try:
            for node, met in zip(order, self.met, strict=False):  # ``order`` grows meanwhile
                following = node.next_functions
                note(following)
                for position in met:
                    meet(following[position][0])
        except (IndexError, AttributeError):
            return None
        ends = list(chain.from_iterable(edges))
        expected = [*order, None]
        alike = (
            [places[root] for root in roots] == self.roots
            and list(map(id, map(type, order))) == self.classes
            and list(map(len, edges)) == self.lengths
            and list(map(_NUMBER, ends)) == self.inputs
            and list(map(_NODE, ends)) == list(map(expected.__getitem__, self.targets))
            and len(set(order)) == len(order)
        )
        return order if alike else None


def _outline(order: list[Node], roots: list[int]) -> _Outline:
    """Return the outline of a graph whose nodes are in walk order."""
    places: dict[Node | None, int] = {None: -1, **{node: place for place, node in enumerate(order)}}
    edges = [node.next_functions for node in order]
    known, met = {-1, *roots}, []
    for following in edges:
        here: list[int] = []
        for position, (node, _) in enumerate(following):
            if places[node] not in known:
                known.add(places[node])
                here.append(position)
        met.append(tuple(here))
    ends = list(chain.from_iterable(edges))
    classes, lengths = list(map(id, map(type, order))), list(map(len, edges))
    return _Outline(roots, met, classes, lengths, [places[node] for node, _ in ends], [number for _, number in ends])


@dataclass(slots=True)
class _Seen:
    """The snapshot of an earlier step."""

    outline: _Outline
    snapshot: Graph
    """Its columns, without measures."""
    leaves: list[tuple[int, weakref.ref[Any]]]
    """Rows, and references to the tensors."""
    questions: Questions
    """What determines the shapes and dtypes of the other nodes."""
    numbered: list[int]
    """Nodes with sequence numbers."""
    numbers: list[int]
    """These numbers, relative to the smallest."""
    classes: list[weakref.ref[Any]]
    """Classes whose identities are in the outline."""
    dtypes: list[Any]
    """PyTorch's dtype of each node."""
    pattern: Any = None
    """Key of lines and scopes when they last equalled the snapshot's."""
    loose: list[tuple[int, int]] | None = None
    """Node numbers and identities of the leaves between watches, when no reference to them may exist."""

    def is_like(self, order: list[Node]) -> bool:
        """Whether the nodes of a graph with this outline have these leaves, shapes and dtypes."""
        if any(cls() is None for cls in self.classes):
            return False
        if self.loose is not None:
            if any(id(order[row].variable) != identity for row, identity in self.loose):
                return False
            self.leaves, self.loose = [(row, Reference(order[row].variable)) for row, _ in self.loose], None
        shapes, dtypes = self.snapshot.shape, self.dtypes
        rows = list(map(_NODE, self.leaves))
        found = list(map(_variable, map(order.__getitem__, rows)))
        expected = zip(map(dtypes.__getitem__, rows), map(shapes.__getitem__, rows), strict=True)
        if not all(map(is_, found, map(call, map(_NUMBER, self.leaves)))) or list(map(_sort, found)) != list(expected):
            return False
        asked, saved = self.questions
        for row, name, value in saved:
            if getattr(order[row], name) != value:
                return False
        for row in asked:
            first = order[row]._input_metadata[0]
            if first.dtype is not dtypes[row] or tuple(first.shape) != shapes[row]:
                return False
        return True

    def loosen(self) -> None:
        """Drop references to leaves until the next watch."""
        if self.loose is None:
            self.leaves, self.loose = [], [(row, id(reference())) for row, reference in self.leaves]

    def number(self, snapshot: Graph, order: list[Node], origins: Origins | None) -> None:
        """Fill in sequence numbers, lines and scopes; unchanged columns are the same objects."""
        found, mine = list(map(_sequence_nr, map(order.__getitem__, self.numbered))), self.snapshot
        first = min(found, default=0)
        pattern = None if origins is None or not found else origins.pattern(first, max(found))
        if list(map(sub, found, repeat(first))) == self.numbers:
            snapshot.seq = mine.seq
        else:
            snapshot.seq = _spread(found, self.numbered, len(order), first)
        snapshot.first_seq, snapshot.classes = first, mine.classes
        if pattern is not None and pattern == self.pattern and snapshot.seq is mine.seq:
            snapshot.source, snapshot.scope, snapshot.call = mine.source, mine.scope, mine.call
            if origins is not None and origins.may_cut:
                snapshot.cuts = origins.cuts(_spread(found, self.numbered, len(order), 0))
            return
        raw = Graph(seq=_spread(found, self.numbered, len(order), 0))
        add_origins(raw, origins)
        snapshot.cuts = raw.cuts
        for row, _ in self.leaves:  # a parameter belongs to its module, wherever it is used
            raw.scope[row] = mine.scope[row]
        snapshot.source = mine.source if raw.source == mine.source else raw.source
        snapshot.scope = mine.scope if raw.scope == mine.scope else raw.scope
        snapshot.call = mine.call if raw.call == mine.call else raw.call
        same = snapshot.source is mine.source and snapshot.scope is mine.scope and snapshot.call is mine.call
        if same and snapshot.seq is mine.seq:
            self.pattern = pattern


def _spread(numbers: list[int], rows: list[int], size: int, first: int) -> list[int | None]:
    """Return a column with numbers in some rows, counted from the first."""
    column: list[int | None] = [None] * size
    for row, number in zip(rows, numbers, strict=True):
        column[row] = number - first
    return column


class Repeated(NamedTuple):
    """A graph that was seen before."""

    snapshot: Graph
    order: list[Node]
    leaves: dict[int, Any]
    """Leaves whose names the table does not have from this snapshot, by node."""


class Repeats:
    """For a few positions, the latest snapshot that was made there twice; also used by the next recording."""

    def __init__(self) -> None:
        self._places: list[tuple[Place, _Seen | None]] = []
        """The latest positions, newest first; a position whose graph was not made twice has no snapshot yet."""
        self._named: weakref.WeakKeyDictionary[TensorTable, _Seen] = weakref.WeakKeyDictionary()
        """Tables that hold the names of leaves, with the snapshot that set them last."""

    def loosen(self) -> None:
        """Drop references to tensors until the next watch."""
        for _, seen in self._places:
            if seen is not None:
                seen.loosen()

    def snapshot(
        self, roots: Sequence[Node], frame: FrameType | None, origins: Origins | None, table: TensorTable | None
    ) -> Repeated | None:
        """Return the snapshot of a graph that equals the latest one from this position; None if it does not."""
        seen = self._at(stack_position(frame))
        if seen is None:
            return None
        order = seen.outline.follow(roots)
        if order is None or not seen.is_like(order):
            return None
        snapshot = Graph(label="backward")
        for column in _SAME:
            setattr(snapshot, column, getattr(seen.snapshot, column))
        snapshot.measures.update(seen.snapshot.measures)
        seen.number(snapshot, order, origins)
        return Repeated(snapshot, order, self._to_name(seen, table))

    def _at(self, place: Place) -> _Seen | None:
        """Return the snapshot of a position."""
        return next((seen for known, seen in self._places if known == place), None)

    def _to_name(self, seen: _Seen, table: TensorTable | None) -> dict[int, Any]:
        """Return the leaves of a snapshot, by node, whose names a table lacks."""
        if table is None or self._named.get(table) is seen:
            return {}
        self._named[table] = seen
        return {row: reference() for row, reference in seen.leaves}

    def learn(self, order: list[Node], frame: FrameType | None, snapshot: Graph, leaves: dict[int, Any]) -> None:
        """Cache a snapshot that was made twice from one position; leaves without a name are searched for each time."""
        place, known = stack_position(frame), self._places
        self._named.clear()
        others = [(one, seen) for one, seen in known if one != place]
        seen = _learned(order, snapshot, leaves) if len(others) < len(known) and len(snapshot) <= _MAX_NODES else None
        self._places = [(place, seen), *others[: _MAX_PLACES - 1]]


def _learned(order: list[Node], snapshot: Graph, leaves: dict[int, Any]) -> _Seen | None:
    """Return the cache entry of a snapshot, None if it cannot be reused."""
    if None in snapshot.shape or any(leaf is None or snapshot.name[row] is None for row, leaf in leaves.items()):
        return None
    if any(type(node).__name__ != op for node, op in zip(order, snapshot.op, strict=True)):
        return None
    outline = _outline(order, snapshot.roots)
    columns = Graph(
        **{name: getattr(snapshot, name) for name in (*_SAME, "source", "scope", "call", "classes")},
        measures=dict(snapshot.measures),  # what nodes keep, if they were asked
    )
    numbered = [row for row, number in enumerate(snapshot.seq) if number is not None]
    numbers = [number for number in snapshot.seq if number is not None]
    first = min(numbers, default=0)
    columns.seq = _spread(numbers, numbered, len(order), first)
    return _Seen(
        outline,
        columns,
        leaves=[(row, Reference(leaf)) for row, leaf in leaves.items()],
        questions=questions(order, snapshot.op, outline.edges(), list(leaves)),
        numbered=numbered,
        numbers=[number - first for number in numbers],
        classes=[Reference(cls) for cls in set(map(type, order))],
        dtypes=[_first(node).dtype for node in order],
    )


def _first(node: Node) -> Any:
    """Return the object with shape and dtype of a node's incoming gradient: for a leaf its tensor, which is faster."""
    return node.variable if type(node).__name__ == "AccumulateGrad" else node._input_metadata[0]
