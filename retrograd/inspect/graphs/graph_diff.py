"""``GraphDiff``: the differences of two graphs, node by node."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..program.places import SourceLine
from .align import align, plain_name
from .columns import Plain, nonfinite_word
from .graph import EDGE_COLUMNS, NODE_COLUMNS, SAMPLED, Cut, Graph

TOLERANCE = 1e-5
"""Relative difference up to which two statistics count as equal."""
MAY_DIFFER = frozenset({"time_us", "started_us", "thread"})
"""Measures that differ from run to run."""
STATUSES = ("operator", "removed", "added", "shape", "figures")
"""How a node can differ, the most significant first; each has a colour in pictures."""


STATUS_WORDS = {
    "operator": "other operator or operand",
    "removed": "removed",
    "added": "added",
    "shape": "other shape or dtype",
    "figures": "other values",
}
"""Status -> words."""
Edge = tuple[int, int, int, int]
"""Source, target, input number and output number."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences within a graph that holds both sides, for drawings."""

    status: dict[int, str] = field(default_factory=dict)
    """Node that differs -> one of ``STATUSES``."""
    words: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Node that changed -> descriptions of its changes."""
    edges: dict[Edge, str] = field(default_factory=dict)
    """Edge that only one side has -> ``added`` or ``removed``."""

    def telling(self) -> list[int]:
        """Return the nodes that differ in more than statistics, which only follow from that; all if there are none."""
        return [node for node, status in self.status.items() if status != "figures"] or list(self.status)

    def worst(self, nodes: Iterable[int]) -> str:
        """Return the most significant status of some nodes, "" if none differs."""
        found = {self.status[node] for node in nodes if node in self.status}
        return next((status for status in STATUSES if status in found), "")


class Change(NamedTuple):
    """One property of a node that differs between the sides."""

    what: str
    """A column (``"shape"``), a measure (``"grad_norm"``), or an edge (``"operand 1"``)."""
    before: Any
    after: Any

    @property
    def kind(self) -> str:
        """Its kind, one of ``STATUSES``."""
        if self.what in ("op", "name") or self.what.startswith("operand"):
            return "operator"
        return "shape" if self.what in ("shape", "dtype") else "figures"


@dataclass(frozen=True, slots=True)
class NodeDiff:
    """One node that was removed (``after`` is None), added (``before`` is None) or changed."""

    before: int | None
    after: int | None
    op: str
    name: str | None
    source_before: SourceLine | None
    source_after: SourceLine | None
    changes: tuple[Change, ...] = ()

    @property
    def status(self) -> str:
        """One of ``STATUSES``."""
        if self.after is None:
            return "removed"
        if self.before is None:
            return "added"
        kinds = {change.kind for change in self.changes}
        return next(status for status in STATUSES if status in kinds)

    @property
    def changed(self) -> bool:
        """Whether both sides have the node."""
        return self.before is not None and self.after is not None

    def to_plain(self) -> dict[str, Plain]:
        """Return the difference as JSON values."""
        plain: dict[str, Plain] = {
            "status": self.status,
            "before": None if self.before is None else f"n{self.before}",
            "after": None if self.after is None else f"n{self.after}",
            "op": self.op,
            "name": self.name,
            "source_before": self.source_before and list(self.source_before),
            "source_after": self.source_after and list(self.source_after),
        }
        pairs = [{"what": c.what, "before": _plain(c.before), "after": _plain(c.after)} for c in self.changes]
        return {**plain, "changes": pairs}


@dataclass(slots=True)
class GraphDiff:
    """Result of ``diff_graphs``."""

    before: Graph
    after: Graph
    match: list[int | None]
    """Node of ``before`` -> node of ``after``, or None."""
    nodes: list[NodeDiff] = field(default_factory=list)
    """All differences in forward order."""

    def __bool__(self) -> bool:
        """Whether the graphs differ."""
        return bool(self.nodes)

    @property
    def same(self) -> int:
        """Number of nodes that are equal on both sides."""
        return len(self.match) - self.match.count(None) - sum(node.changed for node in self.nodes)

    def of(self, status: str) -> list[NodeDiff]:
        """Return the differences with one status."""
        return [node for node in self.nodes if node.status == status]

    def to_plain(self) -> dict[str, Plain]:
        """Return the comparison as JSON values; NaN and infinities become words."""
        sides = {"before": self.before, "after": self.after}
        return {
            **{side: {"label": one.label, "nodes": len(one), "edges": one.edge_count} for side, one in sides.items()},
            "same": self.same,
            **{status: len(self.of(status)) for status in ("removed", "added")},
            "changed": sum(node.changed for node in self.nodes),
            "differences": [node.to_plain() for node in self.nodes],
        }

    def union(self) -> tuple[Graph, Differences]:
        """Return one graph with the nodes of both, those of ``after`` first, and the differences."""
        gone = [node for node, other in enumerate(self.match) if other is None]
        places = {node: len(self.after) + row for row, node in enumerate(gone)}
        places.update((node, other) for node, other in enumerate(self.match) if other is not None)
        classes, cuts = {**self.before.classes, **self.after.classes}, self._cuts(places)
        union = Graph(self.after.engine or self.before.engine, label=self.headline(), classes=classes, cuts=cuts)
        for column in NODE_COLUMNS:
            ours = getattr(self.before, column)
            setattr(union, column, [*getattr(self.after, column), *(ours[node] for node in gone)])
        found = Differences()
        for node in self.nodes:
            row = node.after if node.after is not None else places[node.before or 0]
            found.status[row] = node.status
            # Edges of one side only show which operands are others.
            shown = [change for change in node.changes if not change.what.startswith("operand")]
            if shown:
                found.words[row] = tuple(changes_text(shown))
        now = dict.fromkeys(self.after.edges())
        was = dict.fromkeys((places[s], places[t], i, o) for s, t, i, o in self.before.edges())
        edges = now | was
        found.edges.update({edge: "removed" for edge in was if edge not in now})
        found.edges.update({edge: "added" for edge in now if edge not in was})
        for column, values in zip(EDGE_COLUMNS, zip(*edges, strict=True) if edges else ((),) * 4, strict=True):
            setattr(union, column, list(values))
        union.roots, union.root_names = list(self.after.roots), list(self.after.root_names)
        return union, found

    def _cuts(self, places: dict[int, int]) -> list[Cut]:
        """Return where either side has values without gradients; what only one has says so."""
        places = {-1: -1, **places}
        was = {(places[cut.node], cut.word, places[cut.origin]): cut for cut in self.before.cuts}
        now = {(cut.node, cut.word, cut.origin): cut for cut in self.after.cuts}
        found = []
        for (node, word, origin), cut in (was | now).items():
            key = node, word, origin
            one_sided = "" if key in was and key in now else " (added)" if key in now else " (removed)"
            found.append(Cut(node, word + one_sided, cut.source, origin))
        return found

    def headline(self) -> str:
        """Return ``1 other operator · 2 added · 41 the same``, the most significant first."""
        counts = {words: len(self.of(status)) for status, words in STATUS_WORDS.items()}
        said = [f"{count:,} {words}" for words, count in counts.items() if count]
        return " · ".join([*said, f"{self.same:,} the same"])


def diff_graphs(before: Graph, after: Graph, tolerance: float = TOLERANCE) -> GraphDiff:
    """Return what differs between two graphs: nodes, operators, shapes, dtypes, parameter names, statistics, edges.

    Source lines, variable names and times do not count; statistics count where both graphs have them, if their relative
    difference is at least ``tolerance``.
    """
    found = GraphDiff(before, after, align(before, after))
    # An added or removed node shifts everything that runs after it, and what is saved once for several nodes.
    apart = MAY_DIFFER | {"order", "saved_bytes"}
    measured = [name for name in before.measures if name in after.measures and name not in apart]
    operands, taken = (_operands(before), _operands(after)), set(found.match)
    for left, right in enumerate(found.match):
        if right is None:
            found.nodes.append(NodeDiff(left, None, before.op[left], before.name[left], before.source[left], None))
            continue
        changes = [
            *_column_changes(before, after, left, right),
            *_operand_changes(operands[0][left], operands[1][right], found.match, taken),
            *_measure_changes(before, after, (left, right), measured, tolerance),
        ]
        if changes:
            lines = before.source[left], after.source[right]
            name = after.name[right] or before.name[left]
            found.nodes.append(NodeDiff(left, right, after.op[right], name, *lines, tuple(changes)))
    for right in range(len(after)):
        if right not in taken:
            found.nodes.append(NodeDiff(None, right, after.op[right], after.name[right], None, after.source[right]))
    found.nodes = _oldest_first(found)
    return found


def change_text(change: Change) -> str:
    """Return ``shape (3, 4) → (3, 5)``."""
    return f"{change.what} {_shown(change.before)} → {_shown(change.after)}"


def changes_text(changes: Sequence[Change]) -> list[str]:
    """Return the text for a node: all changes except statistics, and the first of those with the number of others."""
    said = [change_text(change) for change in changes if change.kind != "figures"]
    figures = [change for change in changes if change.kind == "figures"]
    if figures:
        said.append(change_text(figures[0]))
    if len(figures) > 1:
        said.append(f"and {len(figures) - 1} other value{'s' * (len(figures) > 2)}")
    return said


def statistics_differ(before: float | None, after: float | None, tolerance: float) -> bool:
    """Whether two statistics differ by more than the tolerance; NaN equals NaN, unknown equals only unknown."""
    if before is None or after is None:
        return before is not after
    if math.isnan(before) or math.isnan(after):
        return math.isnan(before) != math.isnan(after)
    return not math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


def _column_changes(before: Graph, after: Graph, left: int, right: int) -> Iterator[Change]:
    """Yield the changes in columns."""
    for column in ("op", "shape", "dtype", "saved_bytes"):
        was, now = getattr(before, column)[left], getattr(after, column)[right]
        if was != now and not (column == "saved_bytes" and None in (was, now)):
            yield Change(column, was, now)
    if before.kind[left] == "leaf":
        was, now = before.name[left], after.name[right]
        if was and now and plain_name(was) != plain_name(now):
            yield Change("name", was, now)


def _measure_changes(
    before: Graph, after: Graph, pair: tuple[int, int], measured: list[str], tolerance: float
) -> Iterator[Change]:
    """Yield the statistics that differ; one that only one run has is not a difference."""
    left, right = pair
    for name in measured:
        was, now = before.measures[name][left], after.measures[name][right]
        if name in SAMPLED and (was is None or now is None):
            continue
        if was != now and statistics_differ(was, now, tolerance):
            yield Change(name, was, now)


def _operands(snapshot: Graph) -> list[dict[tuple[int, int], int]]:
    """Return for each node the targets of its edges, by input number and output number."""
    operands: list[dict[tuple[int, int], int]] = [{} for _ in range(len(snapshot))]
    for source, target, input_nr, output_nr in snapshot.edges():
        operands[source][input_nr, output_nr] = target
    return operands


def _operand_changes(
    left: dict[tuple[int, int], int],
    right: dict[tuple[int, int], int],
    match: Sequence[int | None],
    matched: set[int | None],
) -> Iterator[Change]:
    """Yield the operands that changed to another node; new and removed nodes are differences of their own."""
    for place in left | right if left.keys() != right.keys() else left:
        was, now = left.get(place), right.get(place)
        expected = None if was is None else match[was]
        stayed = (was is None or expected is not None) and (now is None or now in matched)
        if stayed and expected != now:
            words = ["none" if node is None else f"n{node}" for node in (was, now)]
            yield Change(f"operand {place[0]}", *words)


def _oldest_first(found: GraphDiff) -> list[NodeDiff]:
    """Return the differences in forward order: by sequence number, nodes without one at the end."""

    def age(node: NodeDiff) -> tuple[bool, int, int]:
        side, row = (found.before, node.before) if node.after is None else (found.after, node.after)
        number = side.seq[row or 0]
        return number is None, number or 0, -(row or 0)

    return sorted(found.nodes, key=age)


def _plain(value: Any) -> Plain:
    """Return one side of a change as a JSON value."""
    if isinstance(value, float) and not math.isfinite(value):
        return nonfinite_word(value)
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    """Return one side of a change as text."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "×".join(map(str, value)) or "scalar" if isinstance(value, tuple) else str(value)
