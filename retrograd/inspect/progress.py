"""A progress bar on stderr for work that takes longer than a second; only where stderr is a terminal.

The loops of the work move the bar: a thread would be one more in the watched program, and a timer's signal would
interrupt it. The remaining work is not known, so the bar shows the current task and the elapsed time.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TypeVar

Item = TypeVar("Item")

PATIENCE = 1.0
"""Seconds of work before a bar appears."""
_PAUSE = 0.1
"""Seconds between two states of the bar."""
_STRIDE = 256
"""Items of a loop between two looks at the clock."""
LARGE_FILE = 30_000_000
"""Size in bytes above which reading or writing a file takes longer than ``PATIENCE``."""


@contextmanager
def progress(what: str, *, surely_long: bool = False) -> Iterator[None]:
    """Show that ``what`` is under way if the block takes long; the bar disappears when the block ends.

    It appears and moves when the block calls ``tick`` or goes through ``followed`` items; ``surely_long`` shows it at
    once, for work that is one call of somebody else's.  Inside such a block another one changes nothing.
    """
    global _work
    stream = sys.__stderr__
    if _work is not None or stream is None or stream.closed or not stream.isatty():
        yield
        return
    work = _work = _Work(what, stream)
    try:
        if surely_long:
            work.show()
        yield
    finally:
        _work = None
        work.end()


def tick() -> None:
    """Show or move the bar if it is time for that."""
    if _work is not None and time.monotonic() >= _work.due:
        _work.show()


def followed(items: Iterable[Item]) -> Iterable[Item]:
    """Return ``items``; on a terminal, taking each of them moves the bar."""
    return items if _work is None else _ticking(items)


def _ticking(items: Iterable[Item]) -> Iterator[Item]:
    for number, item in enumerate(items):
        if number % _STRIDE == 0:
            tick()
        yield item


class _Work:
    """The current task, and its bar once it is shown."""

    def __init__(self, what: str, stream: IO[str]) -> None:
        self._what, self._stream = what, stream
        self._thread = threading.get_ident()
        self._bar: Any = None
        self.due = time.monotonic() + PATIENCE
        """When the bar is updated next."""

    def show(self) -> None:
        """Show the bar; a terminal that fails is ignored."""
        if threading.get_ident() != self._thread:
            return  # another thread's loops are other work
        try:
            if self._bar is None:
                self._bar = _bar(self._what, self._stream)
            self._bar.refresh()
        except OSError:
            self.due = float("inf")
        else:
            self.due = time.monotonic() + _PAUSE

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()


_work: _Work | None = None


def _bar(what: str, stream: IO[str]) -> Any:
    """Return a started bar that has no thread and leaves the program's own streams alone."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    bar = Progress(
        *columns,
        console=Console(file=stream),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task(what, total=None)
    bar.start()
    return bar
