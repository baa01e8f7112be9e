"""Writes events of checkpointed blocks: their forward, and their recomputation."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ...graphs.graph import SourceLine
from ...recording.events import Event
from ..base import Watch


class Checkpoints(threading.local):
    """Knows the blocks that run on each thread."""

    def __init__(self) -> None:
        self._running: list[list[tuple[Watch, int, Event]]] = []
        """Innermost last: in which recordings they began, at which row, by which event."""

    def begin(
        self, watches: Iterable[Watch], action: str, data: dict[str, Any], line: SourceLine | None, run: int | None
    ) -> None:
        """A block begins (``"forward"``), or is computed again (``"recompute"``)."""
        self._running.append([(watch, *_send(watch, action, data, line, run)) for watch in watches])

    def end(self, data: dict[str, Any], line: SourceLine | None, run: int | None) -> None:
        """It has ended: both events say where the stretch between them lies."""
        for watch, row, begun in self._running.pop() if self._running else ():
            end, ended = _send(watch, "ended", data, line, run)
            for event in (begun, ended):
                event.data["first"], event.data["end"] = row + 1, end


def _send(
    watch: Watch, action: str, data: dict[str, Any], line: SourceLine | None, run: int | None
) -> tuple[int, Event]:
    during = {} if run is None else {"run": run}
    event = Event("checkpoint", "checkpoint", line, {"action": action, **data, **during})
    return watch.sink(event), event
