"""The function mode of each watched thread, and the other state that belongs to one thread."""

from __future__ import annotations

import threading
from typing import Any

from ...origins import OriginTables
from ..calls.calls import Inside
from ..private import private
from .mode import OptimizerPause, push_mode, take_off
from .scopes import Running
from .watches import Watches


class ThreadState(threading.local):
    """The state of one thread."""

    mode: Any = None
    paused = False
    """Whether the mode is temporarily off."""

    def __init__(self) -> None:
        self.stack: list[Running] = []
        """The running modules and open scopes."""
        self.inside = Inside()
        self.outer: list[tuple[int | None, bool]] = []
        """For each running pass: the pass around it, and whether the mode was pushed for it."""


class WatchedThreads:
    """Pushes modes on threads and removes them; a mode can only be removed on its own thread."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self.here = ThreadState()
        self.pause = OptimizerPause(self.here)
        self._modes: set[Any] = set()
        """The active modes of all threads."""

    def count(self) -> int:
        """Return how many threads are watched."""
        return len(self._modes)

    def join(self, tables: OriginTables) -> None:
        """Start noting the lines of the current thread."""
        here = self.here
        if here.mode is not None and not here.mode.active:
            self.leave()  # left over from a watch that another thread ended
        names = private()
        if here.mode is None and names.hears_calls:
            here.mode = push_mode(tables.here(names.sequence_number()), tables.severed, here.inside)
            here.inside.optimizer = False
            self._modes.add(here.mode)
            self._tune(here.mode)

    def leave(self) -> None:
        """Stop noting the lines of the current thread."""
        mode, self.here.mode, self.here.paused = self.here.mode, None, False
        if mode is not None:
            mode.active, mode.marks.line, mode.marks.settled = False, None, None
            self._modes.discard(mode)
            take_off(mode)
        self.here.stack.clear()

    def abandon(self) -> None:
        """Disable all modes; one of another thread stays there, idle, until that thread is watched again."""
        while self._modes:
            self._modes.pop().active = False

    def tune(self) -> None:
        """Update the recordings at level ``full`` that each mode notifies of its thread's calls."""
        for mode in list(self._modes):
            self._tune(mode)

    def _tune(self, mode: Any) -> None:
        forward = (watch.forward for watch in self._watches if watch.sees(mode.thread))
        mode.listeners = tuple(writer for writer in forward if writer is not None)
