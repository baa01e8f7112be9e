"""Snapshots of graphs equal to that of the step before: only numbers are read again.

Graphs are compared by classes of nodes, edges, shapes, the leaves themselves, and the place in the program from
which backward was called.  Nodes are asked for nothing that a walk would not ask them.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ...garbage import collector_paused
from ...program.frames import user_frames
from ...snapshot import GraphSnapshot
from ...tensor_table import TensorTable
from ..base import Node, Origins
from ..collect import LEAF_NUMBER
from ..naming import add_origins

_MAX_NODES = 20_000
"""Larger graphs are walked as if they were new, which takes little beside what their nodes take."""
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


class _Seen(NamedTuple):
    """The picture of an earlier step."""

    outline: Outline
    """Without its nodes."""
    leaves: list[tuple[int, weakref.ref[Any]]]
    others: list[int]
    """Rows of all other nodes."""
    classes: list[weakref.ref[Any]]
    """Those whose identities are in the outline, as long as they live."""
    place: list[tuple[CodeType, int]]
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


class Repeats:
    """The latest picture that was made twice, which the next recording may use, too."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None
        self._named: weakref.WeakSet[TensorTable] = weakref.WeakSet()
        """The tables in which its leaves have their names."""
        self._latest: list[tuple[CodeType, int]] = []
        """The place of the latest run that was not pictured from another one."""

    def leaves_to_name(self, table: TensorTable | None) -> dict[int, Any]:
        """Return the leaves of the picture by row for a table that does not know their names yet."""
        if table is None or table in self._named or self._seen is None:
            return {}
        self._named.add(table)
        return {row: reference() for row, reference in self._seen.leaves}

    def picture(
        self, roots: Sequence[Node], frame: FrameType | None, origins: Origins | None
    ) -> tuple[GraphSnapshot, list[Node]] | None:
        """The picture of a graph that is like the latest, and its nodes; None if it is not."""
        seen = self._seen
        if seen is None or seen.place != _place(frame):
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
        return shot, order

    def learn(
        self, roots: Sequence[Node], frame: FrameType | None, shot: GraphSnapshot, leaves: dict[int, Any]
    ) -> None:
        """Remember a picture that was made twice from one place; leaves without a name are looked for each time."""
        place, self._seen = _place(frame), None
        self._named.clear()
        again, self._latest = place == self._latest, place
        outline = outline_of(roots) if again and len(shot) <= _MAX_NODES else None
        if outline is None or None in shot.shape or any(shot.name[row] is None for row in leaves):
            return
        named = all(type(node).__name__ == op for node, op in zip(outline.order, shot.op, strict=True))
        dtypes = [_first(node).dtype for node in outline.order]
        if named and None not in leaves.values():
            kept = [(row, weakref.ref(leaf)) for row, leaf in leaves.items()]
            classes = [weakref.ref(cls) for cls in set(map(type, outline.order))]
            others = [row for row in range(len(shot)) if row not in leaves]
            columns = GraphSnapshot(**{name: getattr(shot, name) for name in (*_SAME, "source", "scope")})
            self._seen = _Seen(outline._replace(order=[]), kept, others, classes, place, dtypes, columns)


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


def _place(frame: FrameType | None) -> list[tuple[CodeType, int]]:
    """Where the user's program stands, innermost frame first."""
    return [(one.f_code, one.f_lasti) for one in user_frames(frame)]
