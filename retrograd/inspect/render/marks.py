"""Marks on a drawing that are not part of the graph: notes of findings, and cuts as dashed edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..findings import SEVERITIES, Finding, Severity
from ..graphs.graph import NODE_COLUMNS, Cut, Graph
from ..program.places import SourceLine
from . import labels

GHOST = "ghost"
"""Kind of a node that is not in the graph: the target of an edge before it was cut."""


@dataclass(frozen=True, slots=True)
class Note:
    """The note of a finding on one box."""

    severity: Severity
    text: str

    @property
    def sign(self) -> str:
        """The symbol before it."""
        return "•" if self.severity == "note" else "⚠"


def unplaced(findings: Iterable[Finding], drawn: Mapping[int, int]) -> list[Note]:
    """Return the messages of findings on nothing that is drawn, such as unused parameters: most severe first.

    ``drawn`` says how many nodes of which graphs are.
    """
    notes = [
        Note(finding.severity, finding.message)
        for finding in findings
        if not any(0 <= mark.node < drawn.get(mark.snapshot, 0) for mark in finding.marks)
    ]
    return sorted(notes, key=lambda note: SEVERITIES.index(note.severity))


def carried(findings: Iterable[Finding], snapshots: Sequence[Graph], step: int) -> list[Finding]:
    """Return findings that also mark the graph of a step where they mark only one like it, of another step.

    Steps of a training loop have one graph; a finding names the first at which it is seen, and the last is drawn.
    """
    return [_carried(finding, snapshots, step) for finding in findings]


def _carried(finding: Finding, snapshots: Sequence[Graph], step: int) -> Finding:
    """Return one finding, whose notes on the other graph name their step."""
    marked = {mark.snapshot for mark in finding.marks if 0 <= mark.snapshot < len(snapshots)}
    alike = next((number for number in sorted(marked) if snapshots[number].is_like(snapshots[step])), step)
    if step in marked or alike == step:
        return finding
    when = f" ({snapshots[alike].label})" if snapshots[alike].label else ""
    more = [
        replace(mark, snapshot=step, text=f"{mark.text or finding.message}{when}")
        for mark in finding.marks
        if mark.snapshot == alike
    ]
    return replace(finding, marks=(*finding.marks, *more))


class Marked(NamedTuple):
    """A graph with everything that is drawn in it."""

    graph: Graph
    """The graph, with a ghost for each tensor that was cut off and is not part of it."""
    notes: list[tuple[int, Note]]
    """Notes of findings on its nodes."""
    cuts: dict[int, str]
    """Edges with values but without gradient, with what cut it: ``detach train.py:14``."""


class _Ghost(NamedTuple):
    """An operand that a node's call used without a gradient."""

    node: int
    text: str
    source: SourceLine | None


def marked(snapshot: Graph, findings: Iterable[Finding], step: int) -> Marked:
    """Return the graph with what was cut off from it, and the notes that belong to nodes."""
    notes: list[tuple[int, Note]] = []
    ghosts = [_Ghost(cut.node, cut.word, cut.source) for cut in snapshot.cuts if cut.origin < 0]
    seen_cut = {cut.node for cut in snapshot.cuts}
    for finding in findings:
        marks = [mark for mark in finding.marks if mark.snapshot == step and 0 <= mark.node < len(snapshot)]
        notes += [(mark.node, Note(finding.severity, mark.text or finding.message)) for mark in marks]
        if seen_cut.isdisjoint(mark.node for mark in marks):  # else it is drawn already, at the very call
            ghosts += [_Ghost(mark.node, mark.ghost, None) for mark in marks[:1] if mark.ghost]
    links = [cut for cut in snapshot.cuts if cut.origin >= 0]
    if not (ghosts or links):
        return Marked(snapshot, notes, {})
    first = snapshot.edge_count + len(ghosts)
    cuts = {first + place: f"{cut.word} {labels.source_text(cut.source)}".strip() for place, cut in enumerate(links)}
    return Marked(_extended(snapshot, ghosts, links), notes, cuts)


def _extended(snapshot: Graph, ghosts: list[_Ghost], links: list[Cut]) -> Graph:
    """Return the graph with each ghost, and the node that each link leads to, as one more input of a node."""
    made = replace(snapshot)
    extra = {"op": "", "kind": GHOST, "scope": "", "call": ""}
    for column in NODE_COLUMNS:
        setattr(made, column, getattr(snapshot, column) + [extra.get(column)] * len(ghosts))
    made.measures = {name: values + [None] * len(ghosts) for name, values in snapshot.measures.items()}
    start = len(snapshot)
    made.op[start:] = [ghost.text for ghost in ghosts]
    made.source[start:] = [ghost.source for ghost in ghosts]
    nodes = [ghost.node for ghost in ghosts] + [link.node for link in links]
    free = _free_inputs(snapshot, set(nodes))
    made.edge_source = snapshot.edge_source + nodes
    made.edge_target = snapshot.edge_target + list(range(start, len(made))) + [link.origin for link in links]
    made.edge_input_nr = list(snapshot.edge_input_nr)
    for node in nodes:
        made.edge_input_nr.append(free[node])
        free[node] += 1
    made.edge_output_nr = snapshot.edge_output_nr + [0] * len(nodes)
    return made


def _free_inputs(snapshot: Graph, nodes: set[int]) -> dict[int, int]:
    """Return for each of these nodes the first input number behind those that its edges have."""
    free = dict.fromkeys(nodes, 0)
    for source, number in zip(snapshot.edge_source, snapshot.edge_input_nr, strict=True):
        if source in free:
            free[source] = max(free[source], number + 1)
    return free
