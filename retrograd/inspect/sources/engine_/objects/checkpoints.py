"""Observes checkpointed blocks: their forward, and when they are computed again."""

from __future__ import annotations

from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ...object_numbers import ObjectNumbers
from ...writers import checkpoints
from ..watching import Observer, Watching, guarded


class Checkpoints(Observer):
    """Sends ``checkpoint``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._blocks = ObjectNumbers()
        self._told = checkpoints.Checkpoints()

    @guarded
    def checkpoint(self, action: str, frame: Any) -> None:
        """A block begins, is computed again, or has ended."""
        region = getattr(frame.function, "__self__", None)  # the call of ``checkpoint`` that it belongs to
        function = getattr(region, "function", frame.function)
        name = str(getattr(function, "__qualname__", type(function).__name__))
        data: dict[str, Any] = {"block": self._blocks.of(frame), "function": name}
        line, run = source_line(user_frame(getframe(1))), self.watching.run_number
        if action == "ended":
            self._told.end(data, line, run)
            return
        if action == "forward":
            data["keeps_random_state"] = getattr(region, "keeps_random_state", True)
        self._told.begin((self.watching,), action, data, line, run)
