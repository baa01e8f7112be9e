"""Observes checkpointed blocks: their forward, and when they are computed again."""

from __future__ import annotations

import sys
from typing import Any

from ....events import Event
from ....program.frames import source_line, user_frame
from ...object_numbers import ObjectNumbers
from ..watching import Observer, Watching, guarded


class Checkpoints(Observer):
    """Sends ``checkpoint``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._blocks = ObjectNumbers()
        self._running: list[tuple[int, Event]] = []
        """Where the blocks that run now began: row and event."""

    @guarded
    def checkpoint(self, action: str, frame: Any) -> None:
        """A block begins, is computed again, or has ended."""
        data: dict[str, Any] = {"action": action, "block": self._blocks.of(frame), "function": _name(frame)}
        if self.watching.run is not None:
            data["run"] = self.watching.run.number
        if action == "forward":
            data["keeps_random_state"] = getattr(_region(frame), "keeps_random_state", True)
        event = Event("checkpoint", "checkpoint", source_line(user_frame(sys._getframe(1))), data)
        row = self.watching.send(event)
        if action == "ended" and self._running:
            before, begun = self._running.pop()
            for one in (begun, event):  # both say where the stretch between them lies
                one.data["first"], one.data["end"] = before + 1, row
        else:
            self._running.append((row, event))


def _region(frame: Any) -> Any:
    """The call of ``checkpoint`` that a frame belongs to."""
    return getattr(frame.function, "__self__", None)


def _name(frame: Any) -> str:
    """The checkpointed function, which a frame runs through the region that it belongs to."""
    function = getattr(_region(frame), "function", frame.function)
    return str(getattr(function, "__qualname__", type(function).__name__))
