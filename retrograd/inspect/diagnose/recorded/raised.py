"""Exceptions of a recording: the one that ended the program, and those out of backward passes that it caught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...snapshot import SourceLine
from .flow import Flow
from .runs import Run


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception, and where autograd was when it was raised."""

    text: str
    type: str
    line: SourceLine | None
    """The innermost line of the user."""
    data: dict[str, Any]
    """Of the event that ended the program; empty if it went on."""
    run: Run | None = None
    """The innermost backward pass that it ended."""
    call: int | None = None
    """Row of the recorded call that raised it."""

    @property
    def ended(self) -> bool:
        """Whether the program ended with it."""
        return bool(self.data)


def raised(flow: Flow) -> Iterator[Raised]:
    """Yield the exception that ended the program; of one that went on those that backward passes ended with."""
    error = flow.error
    if error is not None:
        text = flow.error_text
        run = max((run for run in flow.runs if _same(run.error, text)), key=lambda run: run.begin, default=None)
        yield Raised(text, str(error.data.get("type", "")), error.source, error.data, run, _call(flow, text))
        return
    for run in flow.runs:
        if run.error and run.accumulates and not run.nested:  # what autograd.grad refuses may be a question
            kind, _, text = run.error.partition(": ")
            yield Raised(text, kind, run.source, {}, run, _call(flow, text, run))


def _same(told: str, text: str) -> bool:
    """Whether an event tells of the exception of a text; it may hold the first line alone."""
    message = told.partition(": ")[2]
    return bool(message) and (message == text or text.startswith(message) or text in message)


def _call(flow: Flow, text: str, run: Run | None = None) -> int | None:
    """Return the last recorded call that raised an exception of this text, in a run or at all."""
    for kind in ("operation", "inplace", "cut", "leaf", "read"):
        for row in reversed(flow.rows.get(kind, ())):
            data = flow.events[row].data
            inside = run is None or run.begin < row < run.end
            if inside and "error" in data and _same(str(data["error"]), text):
                return row
    return None
