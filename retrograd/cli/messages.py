"""Messages of the command line itself, on the stderr with which the process was started."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import NoReturn, TextIO

from ..errors import OutputError, RetrogradError

INTERRUPTED = "interrupted; what was not yet written is lost."
"""Printed after Ctrl-C, before the process dies of it."""
_said: set[str] = set()
"""Failures that were already reported."""


def one_line(text: str) -> str:
    """Return ``text`` as one printable line: control characters and lone surrogates become escapes."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


def say(text: str) -> None:
    """Print one line on the stderr that the process was started with; the program may have replaced ``sys.stderr``."""
    _write_stderr(f"retrograd: {one_line(text)}\n")


def report_failure(error: Exception, shown: str) -> int:
    """Print why an output was not written and return the exit code; a bug of ours is shown with its traceback.

    What is tried again and again, and fails each time in the same way, is said once.
    """
    if isinstance(error, RetrogradError):
        if str(error) not in _said:
            _said.add(str(error))
            say(f"error: {error}")
        return error.exit_code
    _write_stderr("".join(traceback.format_exception(error)))
    say(f"error: {shown} could not be written: {type(error).__name__}: {error}. This is a bug of retrograd.")
    return OutputError.exit_code


def forget_stdout() -> None:
    """Discard what is buffered for a closed stdout; python would otherwise complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def leave_by_broken_pipe() -> NoReturn:
    """Die of SIGPIPE when the reader closed the pipe; exit with 1 where there is no such signal."""
    number = getattr(signal, "SIGPIPE", None)
    if number is not None:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    forget_stdout()
    raise SystemExit(1)


def first_stderr() -> TextIO | None:
    """Return the stderr that the process was started with, None where it was or is closed."""
    stream = sys.__stderr__
    return None if stream is None or stream.closed else stream


def _write_stderr(text: str) -> None:
    """Write to the original stderr, if it is still open."""
    stream = first_stderr()
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        pass
