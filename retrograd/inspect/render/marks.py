"""Findings in drawings: notes on nodes, and ghosts, nodes that stand for what an edge led to before it was cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..findings import SEVERITIES, Finding, Severity
from ..snapshot import NODE_COLUMNS, GraphSnapshot

GHOST = "ghost"
"""Kind of a node that is not in the graph: what an edge led to before something cut it."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a finding says about one box."""

    severity: Severity
    text: str

    @property
    def sign(self) -> str:
        """The sign before it."""
        return "•" if self.severity == "note" else "⚠"


def unplaced(findings: Iterable[Finding], drawn: Mapping[int, int]) -> list[Note]:
    """Return what findings say that point at nothing that is drawn, such as unused parameters: most severe first.

    ``drawn`` says how many nodes of which graphs are.
    """
    notes = [
        Note(finding.severity, finding.message)
        for finding in findings
        if not any(0 <= mark.node < drawn.get(mark.snapshot, 0) for mark in finding.marks)
    ]
    return sorted(notes, key=lambda note: SEVERITIES.index(note.severity))


def carried(findings: Iterable[Finding], snapshots: Sequence[GraphSnapshot], step: int) -> list[Finding]:
    """Return findings that also mark the graph of a step where they mark only one like it, of another step.

    Steps of a training loop have one graph; a finding names the first at which it is seen, and the last is drawn.
    """
    return [_carried(finding, snapshots, step) for finding in findings]


def _carried(finding: Finding, snapshots: Sequence[GraphSnapshot], step: int) -> Finding:
    """Return one of them; its words on the other graph say of which step they are."""
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


def with_ghosts(
    snapshot: GraphSnapshot, findings: Iterable[Finding], step: int
) -> tuple[GraphSnapshot, list[tuple[int, Note]]]:
    """Return the graph with a node for every edge that something cut, and the notes that belong to nodes."""
    notes: list[tuple[int, Note]] = []
    ghosts: list[tuple[int, str]] = []
    for finding in findings:
        for mark in finding.marks:
            if mark.snapshot == step and 0 <= mark.node < len(snapshot):
                notes.append((mark.node, Note(finding.severity, mark.text or finding.message)))
                ghosts += [(mark.node, mark.ghost)] if mark.ghost else []
    return (_extended(snapshot, ghosts) if ghosts else snapshot), notes


def _extended(snapshot: GraphSnapshot, ghosts: list[tuple[int, str]]) -> GraphSnapshot:
    """Return the graph with a ghost for each (node that lost an edge, text), as one more input of that node."""
    made = replace(snapshot)
    extra = {"op": "", "kind": GHOST, "scope": ""}
    for column in NODE_COLUMNS:
        setattr(made, column, getattr(snapshot, column) + [extra.get(column)] * len(ghosts))
    made.measures = {name: values + [None] * len(ghosts) for name, values in snapshot.measures.items()}
    free = _free_inputs(snapshot, {node for node, _ in ghosts})
    start = len(snapshot)
    made.op[start:] = [text for _, text in ghosts]
    made.edge_source = snapshot.edge_source + [node for node, _ in ghosts]
    made.edge_target = snapshot.edge_target + list(range(start, len(made)))
    made.edge_input_nr = snapshot.edge_input_nr + [free[node] for node, _ in ghosts]
    made.edge_output_nr = snapshot.edge_output_nr + [0] * len(ghosts)
    return made


def _free_inputs(snapshot: GraphSnapshot, nodes: set[int]) -> dict[int, int]:
    """Return for each of these nodes the first input number behind those that its edges have."""
    free = dict.fromkeys(nodes, 0)
    for source, number in zip(snapshot.edge_source, snapshot.edge_input_nr, strict=True):
        if source in free:
            free[source] = max(free[source], number + 1)
    return free
