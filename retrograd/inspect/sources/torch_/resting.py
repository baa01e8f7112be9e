"""Pauses the mode of a thread while optimizers work: they make no graph, and read hundreds of attributes."""

from __future__ import annotations

from typing import Any

from .mode import put_back, rest


class Resting:
    """The rest of whichever thread it is asked on."""

    def __init__(self, thread: Any) -> None:
        self._thread = thread
        """What belongs to one thread: its ``mode``, and whether that is ``resting``."""

    def begin(self) -> None:
        """From now on nothing is seen."""
        mode = self._thread.mode
        if mode is not None and not self._thread.resting:
            self._thread.resting = rest(mode)

    def end(self) -> None:
        """From now on everything is."""
        if self._thread.resting:
            self._thread.resting = False
            if self._thread.mode is not None and self._thread.mode.active:
                put_back(self._thread.mode)
