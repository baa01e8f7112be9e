"""Ends a command on Ctrl-C without a traceback, and by the signal itself, so that a shell's loop stops, too."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class Interrupted(BaseException):
    """The command ended by Ctrl-C: ``main`` lets a KeyboardInterrupt end the process for it.

    It is not a KeyboardInterrupt itself, because click would turn that into ``Aborted!`` and exit code 1.
    """


def leave_by_interrupt() -> NoReturn:
    """Let the process die of SIGINT, after all messages have been written."""
    sys.excepthook = _shown_already
    raise Interrupted from None


@contextmanager
def silent_interrupt() -> Iterator[None]:
    """Make Ctrl-C end the process at once while modules are loaded: a traceback of imports would help nobody."""
    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if not ours:  # ignored below nohup, or handled by our caller
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _shown_already(*_: object) -> None:
    """Replaces ``sys.excepthook`` where the traceback has been shown already."""
