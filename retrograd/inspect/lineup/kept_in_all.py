"""Recordings of long programs side by side: only steps that all of them kept can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..events import Event, Recording


def kept_in_all(recordings: Sequence[Recording]) -> list[Recording]:
    """Return the recordings with the backward runs, and what led to them, that all of them have."""
    if not any(event.kind == "summary" for recording in recordings for event in recording.events):
        return list(recordings)
    numbers = [{event.data.get("run") for event in recording.events if _ends(event)} for recording in recordings]
    common = set[object]().union(*numbers).intersection(*numbers)
    return [replace(recording, events=_of_runs(recording.events, common)) for recording in recordings]


def _ends(event: Event) -> bool:
    return event.kind == "backward-end"


def _of_runs(events: list[Event], wanted: set[object]) -> list[Event]:
    """Return the events up to the end of each of these runs from the end of the run before it, and the last ones."""
    found: list[Event] = []
    begin = 0
    for row, event in enumerate(events):
        if _ends(event):
            if event.data.get("run") in wanted:
                found += events[begin : row + 1]
            begin = row + 1
    return [event for event in found + events[begin:] if event.kind != "summary"]
