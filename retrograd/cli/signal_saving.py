"""Saves what was recorded when a signal ends the process, also while it hangs inside a collective.

Python runs signal handlers on the main thread between two instructions, so never while that thread waits in C++ for
other ranks. But the signal itself writes to the interpreter's wakeup descriptor: a thread of ours reads it, saves, and
lets the process die of the signal as it would have unwatched. ``GRACE`` is for a process in which no thread can run.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import _exit  # the program's may be wrapped meanwhile
from types import CodeType, FrameType
from typing import NoReturn

from ..inspect.process.started_processes import own_fork
from ..inspect.program.frames import source_line, user_frame
from ..inspect.program.stacks import stack_of
from ..inspect.recording.events import Event, Recording
from ..interpreter import current_frames

# Ends a process that hangs while holding Python's lock when SIGTERM comes, as the signal would have done without us.
#
# No Python code runs then, not even the thread of `_SignalListener`: the byte that the signal wrote is not read. A
# process beside it notices that and sends the signal again, which is fatal, since our handler runs only once.

GRACE = 5.0
"""Seconds that a signal's byte may stay unread before the sentinel ends the process."""
_GLANCE = 5000
"""Milliseconds between checks whether the watched process still exists."""


def handle_once(number: int) -> Callable[[], object] | None:
    """Make the current handler of a signal handle only the next one; None where the system cannot do that.

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
    """Start a process, not a child of this one, that watches the pipe which signals write to."""
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
    """Detach from the program's files, terminal, process group and signals."""
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
    """Wait for a byte that stays unread for ``GRACE`` seconds, then end the watched process."""
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


Place = tuple[CodeType, int]
_GLANCE_EVERY = 0.5
"""Seconds between checks for requests."""
_REACTION = 2.0
"""Seconds in which a program that is not stuck leaves its current line after Ctrl-C."""
UNFINISHED = "Unfinished"
"""Stands for a signal's name when a program is saved while it still runs."""
WATCHED = (signal.SIGTERM, signal.SIGINT)
"""Signals after which the recording is saved."""


@contextmanager
def saved_on_signals(
    save: Callable[[str], None], idle: Callable[[], None] = lambda: None, stuck: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Call ``save`` with the name of a signal that arrives inside the block, and ``idle`` now and then.

    ``stuck`` is called after a Ctrl-C that the program does not react to.

    SIGTERM then ends the process, unless the program handles it; SIGINT stays what it is in Python.  Nothing is
    done where the program (or its host) uses the wakeup descriptor itself, or away from the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    line = _SignalListener(save, idle, stuck)
    line.attach()
    try:
        yield
    finally:
        line.detach()


class _SignalListener:
    """The descriptor, the thread that reads it, and the handler that makes SIGTERM reach it."""

    def __init__(self, save: Callable[[str], None], idle: Callable[[], None], stuck: Callable[[], None]) -> None:
        self._save, self._idle, self._stuck = save, idle, stuck
        self._interrupted: tuple[float, Place | None] | None = None
        """When the last Ctrl-C came, and where the program was then."""
        self._process = os.getpid()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._handler: Callable[[int, FrameType | None], None] | None = None
        self._handle_each: Callable[[], object] | None = None
        """Makes the handler of SIGTERM handle every further signal."""
        self._attached = False
        self._listener = threading.Thread(target=self._listen, name="retrograd-signals", daemon=True)

    def attach(self) -> None:
        """Start listening."""
        self._before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        if self._before != -1:
            signal.set_wakeup_fd(self._before)
            return
        self._attached = True
        os.register_at_fork(after_in_child=self._forget)
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            self._handler = _wait_for_the_end
            signal.signal(signal.SIGTERM, self._handler)
            self._handle_each = handle_once(signal.SIGTERM)
            if self._handle_each is not None:
                post_sentinel(self._reading)
        self._listener.start()

    def detach(self) -> None:
        """Stop listening and restore the previous handlers, after any save in progress has finished."""
        if self._attached and os.getpid() == self._process:
            self._forget()
            os.write(self._writing, b"\0")  # ends the thread
            self._listener.join()

    def _forget(self) -> None:
        """Restore the signal handling, also in a forked child, which handles its own signals."""
        if not self._attached:
            return
        self._attached = False
        now = signal.set_wakeup_fd(-1)
        if now not in (self._writing, -1):
            signal.set_wakeup_fd(now)
        if self._handler is not None and signal.getsignal(signal.SIGTERM) is self._handler:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _listen(self) -> None:
        """Wait for signals, on a thread of our own."""
        while True:
            ready, _, _ = select.select([self._reading], [], [], _GLANCE_EVERY)
            if not ready:  # a byte lies there until Python runs: the sentinel looks at it
                self._look()
                continue
            number = os.read(self._reading, 1)[0]
            if number == 0:
                os.close(self._reading)
                os.close(self._writing)
                return
            if number == signal.SIGTERM and self._handle_each is not None:
                self._handle_each()
            if number in WATCHED:
                self._save(signal.Signals(number).name)
            if number == signal.SIGINT:
                self._interrupted = time.monotonic(), place()
            if number == signal.SIGTERM and signal.getsignal(signal.SIGTERM) is self._handler:
                _die_of(signal.SIGTERM)

    def _look(self) -> None:
        """Do the periodic work."""
        self._idle()
        if self._interrupted is not None and time.monotonic() - self._interrupted[0] > _REACTION:
            stuck = self._interrupted[1] is not None and self._interrupted[1] == place()
            self._interrupted = None
            if stuck:
                self._stuck()


def _wait_for_the_end(number: int, frame: FrameType | None) -> None:
    """Block the main thread while the listener saves and ends the process."""
    threading.Event().wait()


def _die_of(number: signal.Signals) -> None:
    """End the process by the signal's default action, without the main thread's help."""
    try:
        ctypes.CDLL(None).signal(int(number), 0)
        os.kill(os.getpid(), number)
        threading.Event().wait(1.0)
    except (OSError, AttributeError, TypeError):
        pass
    _exit(128 + number)


@contextmanager
def put_off(hurry: Callable[[], object]) -> Iterator[None]:
    """Delay SIGTERM until the end of the block; ``hurry`` is called when it arrives.

    A launcher sends it to all as soon as one rank has failed, also to the one that is about to report why.
    """
    came: list[int] = []
    if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        hurry()

    signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if came:
            os.kill(os.getpid(), signal.SIGTERM)


def place() -> Place | None:
    """Return the main thread's current position, for comparison with a later one."""
    frame = where_it_is()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def where_it_is() -> FrameType | None:
    """Return the program's frame that the main thread is executing."""
    return user_frame(current_frames().get(threading.main_thread().ident or 0))


def stopped(recorded: Recording, name: str, message: str = "stopped by the signal") -> Recording:
    """Return a copy of a recording with the line at which a signal, or retrograd, stopped the program."""
    frame = where_it_is()
    event = Event("error", "", source_line(frame), {"type": name, "message": message, "stack": stack_of(frame)})
    return replace(recorded, events=[*recorded.events, event])
