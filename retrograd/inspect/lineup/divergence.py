"""Finds the first step, and in it the first node, at which runs diverge."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from ..graphs.columns import Plain
from ..graphs.graph import Graph
from ..graphs.graph_diff import Change, GraphDiff, NodeDiff, change_text, diff_graphs
from .run import Place, Run, Step, all_leaves, gradient_order, hooks_run, knows_order, ran

STRUCTURE = ("op", "kind", "edge_source", "edge_target", "edge_input_nr", "edge_output_nr", "roots")


@dataclass(slots=True)
class Difference:
    """How one group of runs differs from the largest group."""

    runs: list[int]
    what: str
    """``operators``, ``shapes``, ``dtypes``, ``participation``, ``order of gradients`` (or ``hooks``), or ``steps``."""
    here: Place | None
    """Position of the largest group."""
    there: Place | None
    """Position of these runs."""
    detail: str = ""
    graphs: GraphDiff | None = None

    def to_plain(self) -> dict[str, Plain]:
        """Return the difference as JSON values."""
        return {
            "runs": self.runs,
            "what": self.what,
            "here": self.here and self.here.to_plain(),
            "there": self.there and self.there.to_plain(),
            "detail": self.detail,
        }


@dataclass(slots=True)
class Divergence:
    """The first step at which the runs differ."""

    step: int
    groups: list[list[int]]
    """Runs that agree with each other, the largest group first."""
    differences: list[Difference] = field(default_factory=list)

    def to_plain(self) -> dict[str, Plain]:
        """Return the divergence as JSON values."""
        found = [difference.to_plain() for difference in self.differences]
        return {"step": self.step, "groups": self.groups, "differences": found}


def divergence(runs: list[Run]) -> Divergence | None:
    """Return the first step at which the runs differ in what they did, or None."""
    for step in range(max((len(run.steps) for run in runs), default=0)):
        parts = _comparable(runs, step)
        groups = _groups(runs, step, parts)
        if len(groups) > 1:
            found = Divergence(step, groups)
            found.differences = [_difference(runs, step, parts, groups[0], group) for group in groups[1:]]
            return found
    return None


def _groups(runs: list[Run], step: int, parts: Parts) -> list[list[int]]:
    """Return the groups of runs that agree at a step, the largest first."""
    groups: dict[Hashable, list[int]] = {}
    for number, run in enumerate(runs):
        groups.setdefault(_signature(run, step, parts), []).append(number)
    return sorted(groups.values(), key=lambda group: (-len(group), group))


def _signature(run: Run, step: int, parts: Parts) -> Hashable:
    """Return a key that is equal for runs that agree at a step; None if a run has no such step."""
    return None if step >= len(run.steps) else tuple(part(run.steps[step]) for part in parts.values())


def _comparable(runs: list[Run], step: int) -> Parts:
    """Return the parts of a step that all recordings hold, given their levels."""
    graphs = [run.steps[step].snapshot for run in runs if step < len(run.steps)]
    if len({knows_order(graph) for graph in graphs if graph is not None}) <= 1:
        return _PARTS
    return {name: part for name, part in _PARTS.items() if name not in _SHOWN_BY_RUNNING}


def _of_graph(part: Callable[[Graph], Hashable]) -> Callable[[Step], Hashable]:
    """Apply a function of graphs to a step, which may have no graph."""
    return lambda step: None if step.snapshot is None else part(step.snapshot)


def _structure(snapshot: Graph) -> Hashable:
    return (*(tuple(getattr(snapshot, column)) for column in STRUCTURE), tuple(sorted(all_leaves(snapshot).items())))


def _participation(snapshot: Graph) -> Hashable:
    return tuple(ran(snapshot, node) for node in range(len(snapshot)))


Parts = dict[str, Callable[[Step], Hashable]]

_PARTS: Parts = {
    "operators": _of_graph(_structure),
    "shapes": _of_graph(lambda snapshot: tuple(snapshot.shape)),
    "dtypes": _of_graph(lambda snapshot: tuple(snapshot.dtype)),
    "participation": _of_graph(_participation),
    "order of gradients": _of_graph(gradient_order),
    "order of hooks": hooks_run,
}
"""What is compared at one step, in the order of significance."""
_SHOWN_BY_RUNNING = {"participation", "order of gradients", "order of hooks"}
"""Parts that recordings of level ``graph`` lack."""


def _difference(runs: list[Run], step: int, parts: Parts, most: list[int], group: list[int]) -> Difference:
    """Describe how a group differs from the largest one."""
    here, there = runs[most[0]], runs[group[0]]
    if step >= len(there.steps) or step >= len(here.steps):
        return _missing_step(runs, step, most, group)
    ours, theirs = here.steps[step].snapshot, there.steps[step].snapshot
    if ours is None or theirs is None:
        return Difference(group, "steps", None, None, "one of them recorded no graph at this step")
    what = next(name for name, part in parts.items() if part(here.steps[step]) != part(there.steps[step]))
    if what == "order of hooks":
        return _other_order(group, what, hooks_run(here.steps[step]), hooks_run(there.steps[step]))
    if what == "order of gradients":
        return _other_order(group, what, gradient_order(ours), gradient_order(theirs))
    graphs = diff_graphs(ours, theirs)
    node = _first(graphs.nodes, what)
    if node is None:  # only which nodes ran
        return _other_participation((here, there), step, group, graphs)
    places = _sides(graphs, node, (here, there), step)
    changes = [change_text(change) for change in node.changes if _is_structure(change)]
    detail = "; ".join(changes) or f"{node.op} is {_side(node)} there"
    return Difference(group, what, *places, detail, graphs)


def _is_structure(change: Change) -> bool:
    """Whether a change makes runs diverge; statistics of ranks differ anyway."""
    return change.what in ("op", "name", "shape", "dtype") or change.what.startswith("operand")


def _side(node: NodeDiff) -> str:
    return "missing" if node.status == "removed" else "additional"


def _first(nodes: Iterable[NodeDiff], what: str) -> NodeDiff | None:
    """Return the oldest node that differs in ``what``; nodes are in forward order."""
    wanted = {"shapes": {"shape"}, "dtypes": {"dtype"}}.get(what)
    for node in nodes:
        kinds = {change.what for change in node.changes}
        structural = not kinds or any(kind in ("op", "name") or kind.startswith("operand") for kind in kinds)
        if (kinds & wanted) if wanted else (structural and what == "operators"):
            return node
    return None


def _sides(graphs: GraphDiff, node: NodeDiff, runs: tuple[Run, Run], step: int) -> tuple[Place | None, Place | None]:
    """Return the positions of both sides at a difference; if one lacks the node, of the last operation they share."""
    here, there = node.before, node.after
    if there is None and here is not None:
        there = _last_common(graphs.before, here, dict(enumerate(graphs.match)))
    elif here is None and there is not None:
        back = {other: row for row, other in enumerate(graphs.match) if other is not None}
        here = _last_common(graphs.after, there, back)
    left = None if here is None else runs[0].place(step, here)
    return left, None if there is None else runs[1].place(step, there)


def _last_common(snapshot: Graph, node: int, match: Mapping[int, int | None]) -> int | None:
    """Return the other side's node for the last operation before a node, in forward order, that both have."""
    age = snapshot.seq[node]
    older = [
        (number, row)
        for row, number in enumerate(snapshot.seq)
        if number is not None and (age is None or number < age) and match.get(row) is not None
    ]
    return match[max(older)[1]] if older else None


def _missing_step(runs: list[Run], step: int, most: list[int], group: list[int]) -> Difference:
    """Say that some runs have no such step."""
    present, absent = (most, group) if step < len(runs[most[0]].steps) else (group, most)
    event = runs[present[0]].steps[step].event
    place = Place(step, None, "backward", "", event.source)
    names = ", ".join(runs[number].name for number in absent)
    here, there = (place, None) if present is most else (None, place)
    return Difference(group, "steps", here, there, f"{names} never began this backward pass")


def _other_order(group: list[int], what: str, ours: tuple[str, ...], theirs: tuple[str, ...]) -> Difference:
    """Say where two orders diverge."""
    pairs = list(zip(ours, theirs, strict=False))
    at = next((place for place, (left, right) in enumerate(pairs) if left != right), len(pairs))
    words = [names[at] if at < len(names) else "nothing" for names in (ours, theirs)]
    return Difference(group, what, None, None, f"number {at + 1} is {words[0]} here and {words[1]} there")


def _other_participation(runs: tuple[Run, Run], step: int, group: list[int], graphs: GraphDiff) -> Difference:
    """Say which node ran on one side only."""
    for left, right in enumerate(graphs.match):
        if right is not None and ran(graphs.before, left) != ran(graphs.after, right):
            places = runs[0].place(step, left), runs[1].place(step, right)
            word = "ran here and not there" if ran(graphs.before, left) else "ran there and not here"
            return Difference(group, "participation", *places, f"{places[0].op} {word}", graphs)
    return Difference(group, "operators", None, None, "the same nodes are in another order", graphs)
