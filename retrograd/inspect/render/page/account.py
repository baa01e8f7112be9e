"""The data of a run besides its graphs: findings, the error that ended it, the user's source lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...findings import Finding
from ...graphs.graph import Graph
from ...program.places import cell_name
from ...recording.events import Event, Recording
from .. import labels
from .structure import safe

_AROUND = 2
"""Source lines shown before and after the one that made a node."""
_FACTS = ("kind", "severity", "message", "remedy", "file", "op")


def findings_data(recording: Recording, findings: Sequence[Finding], steps: Sequence[int]) -> list[dict[str, Any]]:
    """Return findings as JSON values, and the error that ended the run as one more if no finding tells it.

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
    """Return what ended the run."""
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
    """Return what the notebook calls its cells, by the files that they go by."""
    files = sorted({file for file, _ in _places(recording, findings, snapshots)})
    return {safe(file): labels.clean(cell) for file in files if (cell := cell_name(file))}


def _places(recording: Recording, findings: Iterable[Finding], snapshots: Iterable[Graph]) -> set[tuple[str, int]]:
    """Return the lines that graphs, findings and errors mention."""
    places = {(at.file, at.line) for snapshot in snapshots for at in set(snapshot.source) if at is not None}
    places |= {(at.file, at.line) for event in recording.events if event.kind == "error" and (at := event.source)}
    return places | {(finding.file, finding.line) for finding in findings if finding.file}
