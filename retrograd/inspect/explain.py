"""Adds the cause that the diagnosis knows to an exception, as a note; its type and message stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from .diagnosis import explanation
from .findings import Finding
from .process.recorder import Recorder
from .program.places import SourceLine
from .recording.events import Event, Recording
from .sources import sources

_MAX_EVENTS = 200_000
"""Events kept under anomaly mode, which may be on for a whole training run; later errors are explained less well."""


def explain(recorded: Recording, error: BaseException, line: SourceLine | None = None) -> None:
    """Add a note with the cause to an exception, unless it has one already.

    ``line`` is the user's line that raised it, if the recording does not end with it. If the diagnosis fails, no note
    is added.
    """
    if any(note.startswith(_HEAD) for note in getattr(error, "__notes__", ())):
        return
    try:
        found = explanation(_up_to(recorded, error, line))
    except Exception:
        return
    if found is not None:
        error.add_note(note_of(found))


def _up_to(recorded: Recording, error: BaseException, line: SourceLine | None) -> Recording:
    """Return the recording as if it ended with this exception, without the earlier ones that the program caught."""
    message = str(error)
    events = [event for event in recorded.events if event.kind != "error"]
    failed = [event for event in events if "error" in event.data]
    its_own = failed[-1] if failed and message in failed[-1].data["error"] else None
    run = its_own.data.get("run") if its_own is not None else None
    for row, event in enumerate(events):
        if "error" in event.data and event is not its_own and (run is None or event.data.get("run") != run):
            events[row] = replace(event, data={name: v for name, v in event.data.items() if name != "error"})
    ending = next((event for event in recorded.events[-1:] if event.kind == "error"), None)
    data = {"type": type(error).__name__, "message": message}
    return replace(recorded, events=[*events, ending or Event("error", source=line, data=data)])


_HEAD = "retrograd: "


def note_of(finding: Finding) -> str:
    """Return a finding as the text of an exception's note."""
    text = f"{_HEAD}{finding.message}"
    return f"{text}\n  fix: {finding.remedy}" if finding.remedy else text


@contextmanager
def explained() -> Iterator[None]:
    """Explain errors that our engine raises inside the block; recording serves only that."""
    recorder = Recorder(level="full", explain=explain, max_events=_MAX_EVENTS)
    (engine,) = [source for source in sources() if source.name == "retrograd"]
    with engine.watch(recorder, level="full"):
        yield
