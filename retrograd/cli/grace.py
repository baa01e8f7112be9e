"""Ends a process that hangs with Python's lock held when SIGTERM came, as the signal would have done without us.

Nothing of Python's runs there, not even the thread of the ``lifeline``: the byte that the signal wrote is not taken.  A
process beside it sees that, and sends the signal again.  That is fatal then, for our handler is good for one signal.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import NoReturn

from ..inspect.started_processes import own_fork

GRACE = 5.0
"""Seconds that a byte may lie there."""
_GLANCE = 5000
"""Milliseconds after which the sentinel asks whether the process is still there."""


def handle_once(number: int) -> Callable[[], object] | None:
    """Make the present handler of a signal good for one arrival; None where the system cannot do that.

    What is returned lets it handle each again: more may come while what the first one asks for is being done.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "sysv_signal") or not os.path.exists("/proc/self/status"):
        return None
    for function in (libc.signal, libc.sysv_signal):
        function.argtypes, function.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    handler = libc.signal(number, None)
    libc.sysv_signal(number, handler)
    return lambda: libc.signal(number, handler)


def post_sentinel(reading: int) -> None:
    """Start a process that watches the pipe which signals write to; it is no child of this one, and ends with it."""
    watched = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other threads do not matter: nothing of theirs is used
        with own_fork():
            between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    try:
        with own_fork():
            guards = os.fork() == 0
        if guards:
            _stand_aside(reading)
            _stand_guard(watched, reading)
    finally:
        os._exit(0)


def _stand_aside(reading: int) -> None:
    """Have nothing to do with the program: with its files, its terminal, its group and its signals."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, reading)
    os.closerange(reading + 1, min(most, 65_536))


def _stand_guard(watched: int, reading: int) -> NoReturn:
    """Wait for a byte that nobody takes."""
    waiting = select.poll()
    waiting.register(reading, select.POLLIN)
    while _is_there(watched):
        found = waiting.poll(_GLANCE)
        if found and not found[0][1] & select.POLLIN:
            break  # nobody can write any more
        if found:
            time.sleep(GRACE)
            left = waiting.poll(0)  # also says that nobody can write any more, of a process that is done
            if left and left[0][1] & select.POLLIN and _is_deadly(watched):
                os.kill(watched, signal.SIGTERM)
    os._exit(0)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _is_deadly(process: int) -> bool:
    """Whether SIGTERM would end a process: its handler has been used up, and the program has none."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
        masks = {name: int(value, 16) for name, _, value in (line.partition(":") for line in status) if name in _MASKS}
    return not any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks.values())


_MASKS = ("SigCgt", "SigIgn")
