"""Graphs equal to an earlier one from the same place in the program: only numbers are read again.

Graphs are compared by classes of nodes, edges, shapes, the leaves themselves, and the place from which backward was
called; a step with several losses has several.  Of shapes and dtypes only those are asked that do not follow from
others (``determined``).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from operator import itemgetter, methodcaller, sub
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
"""Larger graphs are walked as if they were new, which takes little beside what their nodes take."""
_MAX_PLACES = 8
"""Places of which a snapshot is remembered."""
_SAME = (
    *("engine", "op", "kind", "name", "shape", "dtype", "saved_bytes", "roots", "root_names"),
    *("edge_source", "edge_target", "edge_input_nr", "edge_output_nr"),
)
"""What two graphs with one outline have in common."""
_ORIGINS = ("source", "scope", "call", "classes")
_NODE, _NUMBER = itemgetter(0), itemgetter(1)
_sequence_nr = methodcaller("_sequence_nr")
Place = list[tuple[CodeType, int]]
"""The position of the user's program, innermost frame first."""


class _Outline(NamedTuple):
    """Nodes and edges of a graph, so that another one can be held against it in few steps."""

    roots: list[int]
    met: list[tuple[int, ...]]
    """For each node at which of its edges a walk meets nodes for the first time."""
    classes: list[int]
    """Identities of the nodes' classes, so that a class of the user's may go."""
    lengths: list[int]
    """How many edges each node has."""
    targets: list[int]
    """Where edges lead to, -1 for nowhere."""
    inputs: list[int]
    """The numbers of the inputs there."""

    def edges(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield start, end (-1 for nowhere), position and number of the input of each edge."""
        ends = zip(self.targets, self.inputs, strict=True)
        for row, length in enumerate(self.lengths):
            for position, (end, number) in enumerate(islice(ends, length)):
                yield row, end, position, number

    def follow(self, roots: Sequence[Node]) -> list[Node] | None:
        """Walk a graph, and return its nodes in the order of ``collect`` if it is like this one."""
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
    """Describe a graph whose nodes are in walk order."""
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
    """Its columns, without what was measured."""
    leaves: list[tuple[int, weakref.ref[Any]]]
    questions: Questions
    """What settles the shapes and dtypes of the other nodes."""
    numbered: list[int]
    """Rows of the nodes with sequence numbers."""
    numbers: list[int]
    """These numbers, from the smallest one on."""
    classes: list[weakref.ref[Any]]
    """Those whose identities are in the outline, as long as they live."""
    dtypes: list[Any]
    """PyTorch's dtype of each node."""
    pattern: Any = None
    """Of the lines and scopes, the last time that they were those of the snapshot."""
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
        for row, reference in self.leaves:
            leaf = reference()
            if leaf is not order[row].variable or leaf.dtype is not dtypes[row] or leaf.shape != shapes[row]:
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
        """Release all leaves until the next watch."""
        if self.loose is None:
            self.leaves, self.loose = [], [(row, id(reference())) for row, reference in self.leaves]

    def number(self, snapshot: Graph, order: list[Node], origins: Origins | None) -> None:
        """Fill in sequence numbers, lines and scopes; what is as it was is the same object."""
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
        for row, _ in self.leaves:  # a parameter stands in its module, whoever uses it
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
    """Those whose names the table does not have from this snapshot, by row."""


class Repeats:
    """The latest snapshot that was made twice at each of a few places, which the next recording may use, too."""

    def __init__(self) -> None:
        self._places: list[tuple[Place, _Seen | None]] = []
        """Where graphs were walked last, the latest first; what was not made twice there has no snapshot yet."""
        self._named: weakref.WeakKeyDictionary[TensorTable, _Seen] = weakref.WeakKeyDictionary()
        """The tables in which leaves have their names, with the snapshot that gave them last."""

    def loosen(self) -> None:
        """Refer to no tensor until the next watch."""
        for _, seen in self._places:
            if seen is not None:
                seen.loosen()

    def snapshot(
        self, roots: Sequence[Node], frame: FrameType | None, origins: Origins | None, table: TensorTable | None
    ) -> Repeated | None:
        """The snapshot of a graph that is like the latest from this place; None if it is not."""
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
        """Return the snapshot of a place."""
        return next((seen for known, seen in self._places if known == place), None)

    def _to_name(self, seen: _Seen, table: TensorTable | None) -> dict[int, Any]:
        """Return the leaves of a snapshot by row for a table whose names are not those of this snapshot."""
        if table is None or self._named.get(table) is seen:
            return {}
        self._named[table] = seen
        return {row: reference() for row, reference in seen.leaves}

    def learn(self, order: list[Node], frame: FrameType | None, snapshot: Graph, leaves: dict[int, Any]) -> None:
        """Remember a snapshot that was made twice from one place; leaves without a name are looked for each time."""
        place, known = stack_position(frame), self._places
        self._named.clear()
        others = [(one, seen) for one, seen in known if one != place]
        seen = _learned(order, snapshot, leaves) if len(others) < len(known) and len(snapshot) <= _MAX_NODES else None
        self._places = [(place, seen), *others[: _MAX_PLACES - 1]]


def _learned(order: list[Node], snapshot: Graph, leaves: dict[int, Any]) -> _Seen | None:
    """Return what is remembered of a snapshot, None if it cannot be repeated."""
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
    """Return what tells shape and dtype of what arrives at a node: a leaf's tensor does so at less cost."""
    return node.variable if type(node).__name__ == "AccumulateGrad" else node._input_metadata[0]
