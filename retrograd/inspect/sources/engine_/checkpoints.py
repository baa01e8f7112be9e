"""Observes checkpointed blocks: their forward, and when they are computed again."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from ...events import Event
from ...program.frames import source_line, user_frame
from .watching import Observer, Watching, guarded


class Checkpoints(Observer):
    """Sends ``checkpoint``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._blocks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: list[int] = []
        """Rows where the blocks that run now began."""

    @guarded
    def checkpoint(self, action: str, frame: Any) -> None:
        """A block begins, is computed again, or has ended."""
        block = self._blocks.get(frame)
        if block is None:
            block = self._blocks[frame] = len(self._blocks)
        data: dict[str, Any] = {"action": action, "block": block, "function": _name(frame)}
        if self.watching.run is not None:
            data["run"] = self.watching.run.number
        line = source_line(user_frame(sys._getframe(1)))
        if action == "ended" and self._running:
            data["first"] = self._running.pop() + 1
            event = Event("checkpoint", "checkpoint", line, data)
            data["end"] = self.watching.send(event)
        else:
            self._running.append(self.watching.send(Event("checkpoint", "checkpoint", line, data)))


def _name(frame: Any) -> str:
    """The checkpointed function, which a frame runs through the region that it belongs to."""
    function = getattr(getattr(frame.function, "__self__", None), "function", frame.function)
    return str(getattr(function, "__qualname__", type(function).__name__))
