"""Pauses Python's garbage collector while something large without reference cycles is built.

The collector would scan the whole growing heap again and again: for a walk or a drawing of 100,000 nodes that takes up
to half of the time, and there is nothing to collect.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OURS = "retrograd"
"""Prefix of the names of retrograd's own threads."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector in the block, unless it is off or another thread of the program might switch it."""
    here = threading.current_thread()
    alone = all(thread is here or thread.name.startswith(_OURS) for thread in threading.enumerate())
    if not (alone and gc.isenabled()):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
