"""Adds to an exception what the diagnosis knows of its cause, as a note; its type and message stay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from .diagnose import explanation
from .events import Event, Recording
from .findings import Finding
from .record import Recorder
from .snapshot import SourceLine
from .sources import sources

_MAX_EVENTS = 200_000
"""Events kept under anomaly mode, which may be on for a whole training; what comes later is explained less well."""


def explain(recorded: Recording, error: BaseException, line: SourceLine | None = None) -> None:
    """Add a note with the cause to an exception that leaves the user's line, unless it has one already.

    ``line`` is where it was raised if the recording does not end with it.  A diagnosis that fails adds nothing.
    """
    if any(note.startswith(_HEAD) for note in getattr(error, "__notes__", ())):
        return
    if not recorded.events or recorded.events[-1].kind != "error":
        data = {"type": type(error).__name__, "message": str(error)}
        recorded = replace(recorded, events=[*recorded.events, Event("error", source=line, data=data)])
    try:
        found = explanation(recorded)
    except Exception:
        return
    if found is not None:
        error.add_note(note_of(found))


_HEAD = "retrograd: "


def note_of(finding: Finding) -> str:
    """A finding as the note of an exception."""
    text = f"{_HEAD}{finding.message}"
    return f"{text}\n  remedy: {finding.remedy}" if finding.remedy else text


@contextmanager
def explained() -> Iterator[None]:
    """Explain errors that our engine raises inside the block, and record only for that."""
    recorder = Recorder(level="full", explain=explain, max_events=_MAX_EVENTS)
    (engine,) = [source for source in sources() if source.name == "retrograd"]
    with engine.watch(recorder, level="full"):
        yield
