"""What a run has to say beside its graphs: findings, the error that ended it, and the user's source lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.inspect.events import Recording
from retrograd.inspect.snapshot import GraphSnapshot

from .structure import safe

_AROUND = 3
"""Source lines shown before and after the one that made a node."""
_FACTS = ("kind", "severity", "message", "remedy", "file", "op")


def findings_data(recording: Recording) -> list[dict[str, Any]]:
    """Return findings with their nodes, and the error that ended the run as one more."""
    found = [_finding(finding) for finding in getattr(recording, "findings", ())]
    errors = [event for event in recording.events if event.kind == "error"]
    for event in errors[-1:]:
        message = f"{event.data.get('type', 'Error')}: {event.data.get('message', '')}"
        made: dict[str, Any] = {"kind": "error", "severity": "error", "message": safe(message), "nodes": []}
        if event.source is not None:
            made |= {"file": safe(event.source.file), "line": event.source.line}
        found.append(made)
    return found


def _finding(finding: Any) -> dict[str, Any]:
    """Return one finding (a mapping, or an object with these attributes) as JSON values."""

    def part(name: str) -> Any:
        return finding.get(name) if isinstance(finding, dict) else getattr(finding, name, None)

    made: dict[str, Any] = {name: safe(str(part(name))) for name in _FACTS if part(name)}
    made["line"] = int(part("line") or 0)
    made["nodes"] = [int(str(node).removeprefix("n")) for node in part("nodes") or ()]
    return made


def sources_data(recording: Recording, snapshots: Iterable[GraphSnapshot]) -> dict[str, dict[str, str]]:
    """Return the source lines that graphs, findings and errors mention, with those around them that are known."""
    places = {(at.file, at.line) for snapshot in snapshots for at in set(snapshot.source) if at is not None}
    places |= {(event.source.file, event.source.line) for event in recording.events if event.source is not None}
    places |= {(found["file"], found["line"]) for found in findings_data(recording) if "file" in found}
    wanted: dict[str, set[int]] = {}
    for file, line in places:
        wanted.setdefault(file, set()).update(range(line - _AROUND, line + _AROUND + 1))
    return {
        safe(file): {str(line): safe(known[line]) for line in sorted(lines) if line in known}
        for file, lines in sorted(wanted.items())
        if (known := recording.sources.get(file))
    }
