"""Snapshots of graphs equal to an earlier one from the same place in the program: only numbers are read again.

Graphs are compared by classes of nodes, edges, shapes, the leaves themselves, and the place from which backward was
called; a step with several losses has several.  Nodes are asked for nothing that a walk would not ask them.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ...garbage import collector_paused
from ...program.frames import stack_position
from ...snapshot import GraphSnapshot
from ...tensor_table import TensorTable
from ..base import Node, Origins
from ..collect import LEAF_NUMBER
from ..naming import add_origins

_MAX_NODES = 20_000
"""Larger graphs are walked as if they were new, which takes little beside what their nodes take."""
_MAX_PLACES = 8
"""Places of which a picture is remembered."""
_NONE, _NEXT = -1, -2
_SAME = (
    *("engine", "op", "kind", "name", "shape", "dtype", "saved_bytes", "roots", "root_names"),
    *("edge_source", "edge_target", "edge_input_nr", "edge_output_nr"),
)
"""What two graphs with one outline have in common."""


class Outline(NamedTuple):
    """What tells two graphs apart, and the nodes in the order of a walk."""

    order: list[Node]
    classes: list[int]
    """Their identities, so that a class of the user's may go."""
    edges: list[int]
    """For each node the places of those it leads to and the numbers of the inputs there."""


Place = list[tuple[CodeType, int]]
"""Where the user's program stands, innermost frame first."""


class _Seen(NamedTuple):
    """The picture of an earlier step."""

    outline: Outline
    """Without its nodes."""
    leaves: list[tuple[int, weakref.ref[Any]]]
    others: list[int]
    """Rows of all other nodes."""
    classes: list[weakref.ref[Any]]
    """Those whose identities are in the outline, as long as they live."""
    dtypes: list[Any]
    """PyTorch's dtype of each node."""
    shot: GraphSnapshot
    """Its columns, without what was measured."""


def outline_of(roots: Sequence[Node]) -> Outline | None:
    """Walk a graph as ``collect`` does; None where it is large."""
    places: dict[Node, int] = {}
    for root in roots:
        places.setdefault(root, len(places))
    order, edges = list(places), [places[root] for root in roots]
    enqueue, add, place_of, count = order.append, edges.append, places.setdefault, len(order)
    for node in order:  # grows while it is read
        if count > _MAX_NODES:
            return None
        for child, number in node.next_functions:
            if child is None:
                add(_NONE)
                continue
            there = place_of(child, count)
            if there == count:
                count += 1
                enqueue(child)
            add(there)
            add(number)
        add(_NEXT)
    return Outline(order, list(map(id, map(type, order))), edges)


class Repeated(NamedTuple):
    """A graph that was seen before."""

    shot: GraphSnapshot
    order: list[Node]
    leaves: dict[int, Any]
    """Those whose names the table does not have from this picture, by row."""


class Repeats:
    """The latest picture that was made twice at each of a few places, which the next recording may use, too."""

    def __init__(self) -> None:
        self._places: list[tuple[Place, _Seen | None]] = []
        """Where graphs were walked last, the latest first; what was not made twice there has no picture yet."""
        self._named: weakref.WeakKeyDictionary[TensorTable, _Seen] = weakref.WeakKeyDictionary()
        """The tables in which leaves have their names, with the picture that gave them last."""

    def picture(
        self, roots: Sequence[Node], frame: FrameType | None, origins: Origins | None, table: TensorTable | None
    ) -> Repeated | None:
        """The picture of a graph that is like the latest from this place; None if it is not."""
        seen = self._at(stack_position(frame))
        if seen is None:
            return None
        with collector_paused():
            outline = outline_of(roots)
            if outline is None or not _alike(outline, seen):
                return None
        order, shot = outline.order, GraphSnapshot(label="backward")
        for column in _SAME:
            setattr(shot, column, getattr(seen.shot, column))
        shot.seq = [None if (number := node._sequence_nr()) == LEAF_NUMBER else number for node in order]
        add_origins(shot, origins)
        for row, _ in seen.leaves:  # a parameter stands in its module, whoever uses it
            shot.scope[row] = seen.shot.scope[row]
        for column in ("source", "scope"):
            if getattr(shot, column) == getattr(seen.shot, column):
                setattr(shot, column, getattr(seen.shot, column))
        return Repeated(shot, order, self._to_name(seen, table))

    def _at(self, place: Place) -> _Seen | None:
        """Return the picture of a place."""
        return next((seen for known, seen in self._places if known == place), None)

    def _to_name(self, seen: _Seen, table: TensorTable | None) -> dict[int, Any]:
        """Return the leaves of a picture by row for a table whose names are not those of this picture."""
        if table is None or self._named.get(table) is seen:
            return {}
        self._named[table] = seen
        return {row: reference() for row, reference in seen.leaves}

    def learn(
        self, roots: Sequence[Node], frame: FrameType | None, shot: GraphSnapshot, leaves: dict[int, Any]
    ) -> None:
        """Remember a picture that was made twice from one place; leaves without a name are looked for each time."""
        place, known = stack_position(frame), self._places
        self._named.clear()
        others = [(one, seen) for one, seen in known if one != place]
        seen = _learned(roots, shot, leaves) if len(others) < len(known) and len(shot) <= _MAX_NODES else None
        self._places = [(place, seen), *others[: _MAX_PLACES - 1]]


def _learned(roots: Sequence[Node], shot: GraphSnapshot, leaves: dict[int, Any]) -> _Seen | None:
    """Return what is remembered of a picture, None if it cannot be repeated."""
    outline = outline_of(roots)
    if outline is None or None in shot.shape or any(shot.name[row] is None for row in leaves):
        return None
    named = all(type(node).__name__ == op for node, op in zip(outline.order, shot.op, strict=True))
    if not named or None in leaves.values():
        return None
    dtypes = [_first(node).dtype for node in outline.order]
    kept = [(row, weakref.ref(leaf)) for row, leaf in leaves.items()]
    classes = [weakref.ref(cls) for cls in set(map(type, outline.order))]
    others = [row for row in range(len(shot)) if row not in leaves]
    columns = GraphSnapshot(**{name: getattr(shot, name) for name in (*_SAME, "source", "scope")})
    return _Seen(outline._replace(order=[]), kept, others, classes, dtypes, columns)


def _alike(outline: Outline, seen: _Seen) -> bool:
    """Whether a graph has an outline that was seen, the leaves, shapes and dtypes."""
    order, known = outline.order, seen.outline
    if outline.classes != known.classes or outline.edges != known.edges or any(cls() is None for cls in seen.classes):
        return False
    shapes, dtypes = seen.shot.shape, seen.dtypes
    for row, reference in seen.leaves:
        leaf = reference()
        if leaf is not order[row].variable or leaf.dtype is not dtypes[row] or leaf.shape != shapes[row]:
            return False
    for row in seen.others:
        first = order[row]._input_metadata[0]
        if first.dtype is not dtypes[row] or tuple(first.shape) != shapes[row]:
            return False
    return True


def _first(node: Node) -> Any:
    """Return what tells shape and dtype of what arrives at a node: a leaf's tensor does so at less cost."""
    return node.variable if type(node).__name__ == "AccumulateGrad" else node._input_metadata[0]
