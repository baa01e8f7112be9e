"""Private names of Python that we use: each is looked up once, here, with its substitute.

Another version of Python may lack some of them. The comment beside a name says which feature is lost then; the program
runs as it would alone.
"""

from __future__ import annotations

import atexit
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any

LOST: list[str] = []
"""A sentence for each name that is gone and whose loss can be noticed."""


def _found(holder: Any, name: str, instead: Any, lost: str = "") -> Any:
    """Return the value of a name, or its substitute."""
    found = getattr(holder, name, None)
    if found is None and lost:
        LOST.append(f"Python {sys.version.split()[0]} has no {holder.__name__}.{name}: {lost}")
    return instead if found is None else found


def _module(name: str) -> ModuleType | None:
    """Return a module that some builds of Python lack."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _frame_of_caller(depth: int = 0) -> FrameType | None:
    """Return the frame of a caller; an exception knows where it was raised."""
    try:
        raise LookupError
    except LookupError as error:
        frame: FrameType | None = error.__traceback__.tb_frame if error.__traceback__ is not None else None
    for _ in range(depth + 1):
        frame = None if frame is None else frame.f_back
    return frame


def _join_all() -> None:
    """Wait for all threads that are not daemons."""
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()


def module_runner() -> Callable[..., object]:
    """Return the function behind ``python -m``; without it the program gets a separate namespace."""
    import runpy  # only the command line needs it

    instead = partial(runpy.run_module, run_name="__main__", alter_sys=True)
    return getattr(runpy, "_run_module_as_main", None) or (lambda name, alter_argv=True: instead(name))


def reopen(lock: Any) -> None:
    """Open a lock that another thread held when this process was forked; one of a thread that is gone may stay shut."""
    again = getattr(lock, "_at_fork_reinit", None)
    if again is not None:
        again()
    elif hasattr(lock, "locked") and lock.locked():
        lock.release()


getframe: Callable[..., Any] = _found(sys, "_getframe", _frame_of_caller)
current_frames: Callable[[], dict[int, FrameType]] = _found(
    sys, "_current_frames", dict, "the line at which a signal finds a program is unknown"
)
run_exit_handlers: Callable[[], object] = _found(
    atexit, "_run_exitfuncs", bool, "what exit handlers do is not recorded"
)
join_threads: Callable[[], object] = _found(threading, "_shutdown", _join_all)

SHOWS_WARNINGS = (warnings, "_showwarnmsg")
BEGINS_THREADS = (threading.Thread, "_bootstrap_inner")
ENDS_PROCESSES = ("multiprocessing.util", "_exit_function")
"""Functions that are wrapped in place: those that show a warning, run a thread, and are called last by a process."""
_found(*SHOWS_WARNINGS, None, "warnings of the program may name other lines")
_found(*BEGINS_THREADS, None, "threads that the program starts are not recorded")

PROFILER: Any = getattr(_module("_lsprof"), "Profiler", None)
"""The class of cProfile's profilers, which alone can be restored."""
