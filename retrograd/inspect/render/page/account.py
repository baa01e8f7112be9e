"""Data for the panels beside the drawing: findings, hooks, notes on cards, saved tensors, and measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...findings import SEVERITIES, Finding
from ...graphs.graph import Graph
from ...layout import Size
from ...layout.text_size import text_width, wrapped
from ...program.places import cell_name
from ...recording.events import Event, Recording
from ...recording.memory_line import MemoryLine, memory_line, thinned
from ...recording.saved_tensors import saved_tensors
from .. import labels
from ..marks import Note
from ..scale import MEASURES, known_measures, scale
from .packing import Packing
from .structure import safe

_AROUND = 2
"""Source lines shown before and after the one that made a node."""
_FACTS = ("kind", "severity", "message", "remedy", "file", "op")


def findings_data(recording: Recording, findings: Sequence[Finding], steps: Sequence[int]) -> list[dict[str, Any]]:
    """Return findings as JSON values, and the error that ended the run as another one if no finding is about it.

    ``steps`` are the numbers of the graphs in the page; marks name them by their place in it.
    """
    places = {step: place for place, step in enumerate(steps)}
    shown = [_finding(finding, places) for finding in findings]
    errors = [event for event in recording.events if event.kind == "error"]
    shown += [_error(event) for event in errors[-1:] if not findings]
    return shown


def _finding(finding: Finding, places: dict[int, int]) -> dict[str, Any]:
    """Return one finding."""
    plain = finding.to_plain()
    made: dict[str, Any] = {name: safe(str(plain[name])) for name in _FACTS if plain[name]}
    made["line"] = finding.line
    made["path"] = [safe(str(step)) for step in finding.evidence.get("path", ())]
    made["marks"] = [
        [places[mark.snapshot], mark.node, safe(mark.text)] for mark in finding.marks if mark.snapshot in places
    ]
    return made


def _error(event: Event) -> dict[str, Any]:
    """Return the error that ended the run."""
    message = f"{event.data.get('type', 'Error')}: {event.data.get('message', '')}"
    made: dict[str, Any] = {
        "kind": "error",
        "severity": "error",
        "message": safe(message),
        "line": 0,
        "marks": [],
        "path": [],
    }
    if event.source is not None:
        made |= {"file": safe(event.source.file), "line": event.source.line}
    return made


def sources_data(
    recording: Recording, findings: Iterable[Finding], snapshots: Iterable[Graph]
) -> dict[str, dict[str, str]]:
    """Return the source lines that graphs, findings and errors mention, with those around them that are known."""
    wanted: dict[str, set[int]] = {}
    for file, line in _places(recording, findings, snapshots):
        wanted.setdefault(file, set()).update(range(line - _AROUND, line + _AROUND + 1))
    return {
        safe(file): {str(line): safe(known[line]) for line in sorted(lines) if line in known}
        for file, lines in sorted(wanted.items())
        if (known := recording.sources.get(file))
    }


def cells_data(recording: Recording, findings: Iterable[Finding], snapshots: Iterable[Graph]) -> dict[str, str]:
    """Return the notebook's names for its cells, by file."""
    files = sorted({file for file, _ in _places(recording, findings, snapshots)})
    return {safe(file): labels.clean(cell) for file in files if (cell := cell_name(file))}


def _places(recording: Recording, findings: Iterable[Finding], snapshots: Iterable[Graph]) -> set[tuple[str, int]]:
    """Return the lines that graphs, findings and errors mention."""
    places = {(at.file, at.line) for snapshot in snapshots for at in set(snapshot.source) if at is not None}
    places |= {(at.file, at.line) for event in recording.events if event.kind == "error" and (at := event.source)}
    return places | {(finding.file, finding.line) for finding in findings if finding.file}


_WORDS = {
    "tensor": "on the tensor",
    "node": "after the node",
    "node-pre": "before the node",
    "post-accumulate": "after accumulation",
}


def hooks_data(recording: Recording, snapshot: Graph) -> list[tuple[int, str]]:
    """Return (node, hook in words) for every hook that was registered on a node of a graph or on its tensor."""
    registered = [event for event in recording.events if _did(event, "registered") and event.op in _WORDS]
    if not registered:
        return []
    nodes = {number + snapshot.first_seq: node for node, number in enumerate(snapshot.seq) if number is not None}
    leaves = {name: node for node, name in enumerate(snapshot.name) if name and snapshot.kind[node] == "leaf"}
    ran = {event.data.get("handle") for event in recording.events if _did(event, "ran")}
    found = []
    for event in registered:
        node = _node(event, recording, nodes, leaves)
        if node is not None:
            found.append((node, _words(event, event.data.get("handle") in ran)))
    return found


def _did(event: Event, action: str) -> bool:
    """Return whether an event says that a hook was registered, or ran."""
    return event.kind == "hook" and event.data.get("action") == action


def _node(event: Event, recording: Recording, nodes: dict[int, int], leaves: dict[str, int]) -> int | None:
    """Return the node of a hook: its own, or the one that made its tensor."""
    if "node" in event.data:
        return nodes.get(event.data["node"])
    number = event.data.get("tensor")
    if not isinstance(number, int) or not 0 <= number < len(recording.tensors):
        return None
    tensor = recording.tensors[number]
    made_by = tensor.made_by
    if made_by is not None and 0 <= made_by < len(recording.events):
        made = recording.events[made_by].data.get("nodes")
        if made:
            return nodes.get(made[1] - 1)
    return leaves.get(tensor.name or "")


def _words(event: Event, ran: bool) -> str:
    """Return a hook in words: ``clip, on the tensor, train.py:7, never ran``."""
    name = safe(str(event.data.get("hook", "hook")))
    parts = [name, _WORDS[event.op], labels.source_text(event.source), "" if ran else "never ran"]
    return ", ".join(part for part in parts if part)


_ROOM, _SIZE, _LINE = 226.0, 11.0, 15.0
_SENTENCE, _FIX = 6, 4
"""Lines of each."""
_MOST_NOTES = 3
"""Findings on one card."""

CardNotes = dict[int, list[list[str]]]
"""Per node what findings say on its card, each the severity and its lines."""


def card_notes(findings: Iterable[Finding], step: int, nodes: int) -> CardNotes:
    """Return the notes of findings on the nodes of a step's graph, the most severe first."""
    found: CardNotes = {}
    for finding in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        said = {mark.node: mark.text for mark in reversed(finding.marks) if mark.snapshot == step}
        for node, text in sorted(said.items()):
            notes = found.setdefault(node, []) if 0 <= node < nodes else []
            if len(notes) < _MOST_NOTES:
                notes.append([finding.severity, *_lines(finding, text)])
    return found


def _lines(finding: Finding, text: str) -> list[str]:
    """Return sentence and fix; a note about the place itself replaces a longer sentence."""
    note = Note(finding.severity, text or finding.message)
    lines = wrapped(f"{note.sign} {labels.clean(note.text)}", _SIZE, _ROOM, _SENTENCE)
    if finding.remedy:
        lines += wrapped(f"Fix: {labels.clean(finding.remedy)}", _SIZE, _ROOM, _FIX)
    return [safe(line) for line in lines]


def note_room(steps: Sequence[CardNotes]) -> dict[int, Size]:
    """Return for each node the room on its card that suffices in all of these steps."""
    room: dict[int, Size] = {}
    for notes in steps:
        for node, said in notes.items():
            lines = [line for one in said for line in one[1:]]
            wide, high = room.get(node, Size(0.0, 0.0))
            widest = max(text_width(line, _SIZE) for line in lines)
            room[node] = Size(max(wide, widest), max(high, _LINE * len(lines) + 8.0))
    return room


_POINTS = 120
"""Points of each half of the line."""
_MOST_SAVED = 20_000
"""Tensors of one graph that are listed."""
_MOST_HOLDERS = 6
"""Modules and lines of the program that are named."""


def memory_data(snapshot: Graph, *, retained: bool) -> dict[str, Any] | None:
    """Return the line of memory of one graph as JSON values, None where nothing is known."""
    line = memory_line(snapshot, retained=retained)
    if line is None:
        return None
    halves = (line.held[: line.forward], line.held[line.forward :])
    forward, backward = (thinned(half, _POINTS) for half in halves)
    return {
        "forward": forward,
        "backward": backward,
        "retained": retained,
        "most": line.most,
        "node": line.nodes[line.peak],
        **_holders(line),
    }


def saved_data(recording: Recording, step: int) -> list[list[Any]]:
    """Return per tensor that a node of a graph keeps: node, name, shape and dtype, its line, bytes, range of values."""
    kept = [row for rows in saved_tensors(recording, step).values() for row in rows][:_MOST_SAVED]
    return [
        [
            int(one.node[1:]),
            safe(one.name),
            labels.tensor_text(one.shape, one.dtype),
            safe(labels.source_text(one.source)),
            one.bytes,
            labels.range_text(one),
        ]
        for one in kept
    ]


def _holders(line: MemoryLine) -> dict[str, Any]:
    """Return the modules and lines that hold most at the peak."""
    parts = {"modules": line.modules, "lines": line.lines}
    return {name: [[safe(one.what), one.held] for one in part[:_MOST_HOLDERS]] for name, part in parts.items()}


_NUMBER, _ABSENT, _NAN, _PLUS, _MINUS = range(5)


def measure_data(snapshot: Graph, color_by: str | None, packing: Packing) -> dict[str, Any]:
    """Return for each name the numbers and, if not all are finite, the kind of each entry (0 is a number).

    Among them is the sum of columns that ``color_by`` may mean.
    """
    columns = dict(snapshot.measures)
    if color_by in MEASURES and len(MEASURES[color_by]) > 1 and color_by in known_measures(snapshot):
        columns[color_by] = scale(snapshot, color_by).values
    return {safe(name): _column(values, packing) for name, values in columns.items()}


def _column(measured: list[float | None], packing: Packing) -> dict[str, Any]:
    """Return one measure."""
    absent = np.asarray([value is None for value in measured], dtype=bool)
    values = np.asarray([0.0 if value is None else value for value in measured], dtype=np.float64)
    states = np.select(
        [absent, np.isnan(values), values == np.inf, values == -np.inf], [_ABSENT, _NAN, _PLUS, _MINUS], _NUMBER
    )
    column: dict[str, Any] = {"values": packing.floats(np.where(states == _NUMBER, values, 0.0))}
    if states.any():
        column["states"] = packing.numbers(states)
    return column
