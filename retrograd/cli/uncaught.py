"""Shows the exception that ended a program as ``python`` does, without frames of the command line and the recorder."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType

from ..inspect.process.recorder import text_of

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WATCHERS = tuple(
    os.path.join(_PACKAGE, *part)
    for part in [("cli", ""), ("inspect", "sources", ""), ("inspect", "program", ""), ("inspect", "process", "")]
)
"""Files whose frames are on a program's stack only because it is watched."""


def show_exit(stop: SystemExit) -> int:
    """Return the exit code of a ``SystemExit``; a code that is not a number is printed, as Python does, and gives 1."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return int(stop.code)
    _print(f"{text_of(stop.code)}\n")
    return 1


def show_uncaught(error: BaseException) -> int:
    """Hand an uncaught exception to ``sys.excepthook`` without our frames and return the exit code."""
    strip_our_frames(error)
    _remember(error)
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        _print("sys.excepthook is missing\n")
        _print_exception(error)
        return 1
    failure = _failure_of(hook, error)
    if isinstance(failure, SystemExit):
        return show_exit(failure)
    if failure is not None:
        strip_our_frames(failure)
        _print("Error in sys.excepthook:\n")
        _print_exception(failure)
        _print("\nOriginal exception was:\n")
        _print_exception(error)
    return 1


def show_ignored(error: BaseException, where: object) -> None:
    """Report an exception that stops nothing, in python's words; only C can make what ``sys.unraisablehook`` wants."""
    strip_our_frames(error)
    _print(f"Exception ignored in: {where!r}\n")
    _print_exception(error)


def strip_our_frames(error: BaseException) -> None:
    """Take our frames out of the tracebacks of an exception and of all it carries: causes, contexts, groups."""
    for one in _with_all_it_carries(error):
        entries = _without_ours(list(_entries(one.__traceback__)))
        # From the end: each assignment checks the rest of the chain for loops.
        following: TracebackType | None = None
        for entry in reversed(entries):
            if entry.tb_next is not following:
                entry.tb_next = following
            following = entry
        one.__traceback__ = following


def _with_all_it_carries(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and every exception it refers to, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def _entries(entry: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the entries of a traceback, outermost first."""
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _without_ours(entries: list[TracebackType]) -> list[TracebackType]:
    """Drop the entries that ``python`` alone would not have.

    PyTorch's functions written in Python ask whether somebody watches and then call themselves anew through
    ``handle_torch_function``, so they stand twice: before and after our frame.
    """
    kept: list[TracebackType] = []
    for entry in entries:
        code = entry.tb_frame.f_code
        if code.co_filename.startswith(_WATCHERS):
            continue
        passed_on = len(kept) > 1 and kept[-1].tb_frame.f_code.co_name == "handle_torch_function"
        if passed_on and kept[-2].tb_frame.f_code is code:
            del kept[-2:]
        kept.append(entry)
    return kept


def _remember(error: BaseException) -> None:
    """Set ``sys.last_value`` and the like, as Python does before it calls the hook."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error


def _failure_of(hook: object, error: BaseException) -> BaseException | None:
    """Call the hook and return the exception it raised."""
    try:
        hook(type(error), error, error.__traceback__)  # type: ignore[operator]
    except BaseException as failure:
        return failure
    return None


def _print_exception(error: BaseException) -> None:
    """Print an exception with its traceback on stderr."""
    _print("".join(traceback.format_exception(error)))


def _print(text: str) -> None:
    """Write to stderr if it is open."""
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except Exception:
        pass
