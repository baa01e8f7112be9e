"""Suspends the function mode of a thread while an optimizer works: no graph is made, but much is looked up."""

from __future__ import annotations

from typing import Any

from .mode import put_back, rest


class Resting:
    """The rest of whichever thread it is asked on."""

    def __init__(self, thread: Any) -> None:
        self._thread = thread
        """What belongs to one thread: its ``mode``, whether that is ``resting``, and what it is ``inside`` of."""

    def begin(self, *, computes: bool = False) -> None:
        """An optimizer works: its calls are no events, and not even seen unless it ``computes`` with a graph."""
        self._thread.inside.optimizer = True
        mode = self._thread.mode
        if mode is not None and not computes and not self._thread.resting:
            self._thread.resting = rest(mode)

    def end(self) -> None:
        """From now on everything is, and all calls are events again."""
        self._thread.inside.optimizer = False
        if self._thread.resting:
            self._thread.resting = False
            if self._thread.mode is not None and self._thread.mode.active:
                put_back(self._thread.mode)
