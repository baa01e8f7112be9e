"""Suspends the function mode of a thread during an optimizer step, which makes many calls and no graph."""

from __future__ import annotations

from typing import Any

from .mode import pop_mode, put_back


class OptimizerPause:
    """The pause of whichever thread it is asked on."""

    def __init__(self, thread: Any) -> None:
        self._thread = thread
        """What belongs to one thread: its ``mode``, whether that is ``paused``, and what it is ``inside`` of."""

    def begin(self, *, computes: bool = False) -> None:
        """An optimizer works: its calls are no events, and not even seen unless it ``computes`` with a graph."""
        self._thread.inside.optimizer = True
        self._thread.inside.steps += 1
        mode = self._thread.mode
        if mode is not None and not computes and not self._thread.paused:
            self._thread.paused = pop_mode(mode)

    def end(self) -> None:
        """The optimizer is done: from now on everything is seen, and all calls are events again."""
        self._thread.inside.optimizer = False
        if self._thread.paused:
            self._thread.paused = False
            if self._thread.mode is not None and self._thread.mode.active:
                put_back(self._thread.mode)
