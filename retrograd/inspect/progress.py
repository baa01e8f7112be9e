"""A progress bar on stderr for work that takes longer than a second, where stderr is a terminal; nothing elsewhere.

How much work is left is not known beforehand, so the bar says what is being done and for how long.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

PATIENCE = 1.0
"""Seconds of work before a bar appears."""


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show that ``what`` is under way if the block takes long; the bar is gone when the block ends, however it ends."""
    stream = sys.__stderr__
    if stream is None or stream.closed or not stream.isatty():
        yield
        return
    bar = _Bar(what, stream)
    bar.begin()
    try:
        yield
    finally:
        bar.end()


class _Bar:
    """A bar that appears by itself after a while."""

    def __init__(self, what: str, stream: IO[str]) -> None:
        self._what, self._stream = what, stream
        self._shown: Any = None
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE, self._show)
        self._timer.name = "retrograd-progress"
        self._timer.daemon = True

    def begin(self) -> None:
        """Start to wait."""
        self._timer.start()

    def end(self) -> None:
        """Take the bar away, or see to it that it never comes."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()

    def _show(self) -> None:
        """Show the bar; a terminal that fails is no reason to fail."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        with self._lock:
            if self._over:
                return
            bar = Progress(*columns, console=Console(file=self._stream), transient=True)
            bar.add_task(self._what, total=None)
            try:
                bar.start()
            except OSError:
                return
            self._shown = bar
