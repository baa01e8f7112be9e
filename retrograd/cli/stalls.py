"""Saves what was recorded when a program stands still: a process that waits for others may soon be killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .lifeline import where_it_is

_LOOK = 1.0
"""Seconds between two looks."""
_STILL = 5
"""Looks at the same place after which it is saved; twice as many after each time."""


@contextmanager
def saved_when_still(save: Callable[[], None]) -> Iterator[None]:
    """Call ``save``, on a thread of its own, whenever the main thread has not left a line inside the block for long."""
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(over, save), name="retrograd-stalls", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(over: threading.Event, save: Callable[[], None]) -> None:
    last, still, limit = None, 0, _STILL
    while not over.wait(_LOOK):
        frame = where_it_is()
        place = None if frame is None else (frame.f_code, frame.f_lasti)
        del frame
        still = still + 1 if place is not None and place == last else 0
        last = place
        if still == limit:
            save()
            limit *= 2
