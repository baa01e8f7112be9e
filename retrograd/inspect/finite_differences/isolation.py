"""Runs work that calls the user's code on a separate thread, isolated from the program.

A new thread has none of the program's modes (gradients off, autocast, default device, saved-tensor hooks). What the
work prints is discarded, what it reads is empty, and the states of random generators are restored.
"""

from __future__ import annotations

import io
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

NAME = "retrograd differences"
"""Name of the thread."""
_STREAMS = ("stdin", "stdout", "stderr")


class _Stream:
    """Replaces a standard stream: the diverted thread gets an empty one, other threads the program's own."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self._nowhere = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        self._thread: int | None = None

    def divert(self) -> None:
        """Divert the current thread."""
        self._thread = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nowhere if threading.get_ident() == self._thread else self._own, name)


def run_isolated(work: Callable[[], None], seconds: float) -> bool:
    """Run work on a separate thread; return whether it ended in time. Exceptions are dropped.

    A thread that does not end is abandoned: it may wait forever.
    """
    with _streams() as streams, same_random_numbers():

        def run() -> None:
            for stream in streams:
                stream.divert()
            try:
                work()
            except BaseException:  # the user's code may raise anything, SystemExit too
                pass

        thread = threading.Thread(target=run, name=NAME, daemon=True)
        thread.start()
        thread.join(seconds)
    return not thread.is_alive()


@contextmanager
def _streams() -> Iterator[list[_Stream]]:
    """Replace the standard streams; restore them unless the program has replaced them meanwhile."""
    made = {name: _Stream(getattr(sys, name)) for name in _STREAMS if getattr(sys, name) is not None}
    for name, stream in made.items():
        setattr(sys, name, stream)
    try:
        yield list(made.values())
    finally:
        for name, stream in made.items():
            if getattr(sys, name) is stream:
                setattr(sys, name, stream._own)


@contextmanager
def same_random_numbers() -> Iterator[None]:
    """Restore the states of Python's and NumPy's generators after the block."""
    numpy: Any = sys.modules.get("numpy.random")
    states = random.getstate(), None if numpy is None else numpy.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        if numpy is not None:
            numpy.set_state(states[1])
