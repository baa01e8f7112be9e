"""Runs a user's program in this process as ``python`` itself would run it, and ends the process as it would.

The rules were read off ``python`` (3.11) and are held against it by ``tests/test_cli_runner*.py``:

- a fresh ``__main__`` module with the names, loader, ``__spec__`` and absolute ``__file__`` that python gives it;
- ``sys.argv`` and ``sys.path[0]`` as for the program alone (nothing is put there under ``-P``);
- an uncaught exception is shown by ``sys.excepthook`` without our frames; ``sys.exit("text")`` goes to stderr;
- then, in python's order: threads are joined, ``atexit`` handlers run.  Only after that does ``Run.end`` return, so
  that a recording around it also holds what threads and handlers did;
- ``leave`` gives the process the program's exit code, or lets it die of SIGINT after a Ctrl-C.

What cannot be kept: ``os.exec*`` and a signal that kills the process end it at once, without results. A program sees
two frames below its own module, and modules that the command line needs are loaded already. Tracebacks of errors that
it catches contain frames of PyTorch that are not there under ``python``: those of function modes and hooks.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import linecache
import os
import pkgutil
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from ..inspect.program.frames import is_command_line
from ..inspect.program.texts import keep_text, kept_text
from ..inspect.sources.patches import Patches
from ..interpreter import SHOWS_WARNINGS, getframe, join_threads, module_runner, run_exit_handlers
from .environment import Environment
from .interrupts import leave_by_interrupt
from .requested import Execute
from .target import Target, current_folder
from .tracers import (
    NONE,
    NOTHING,
    TOOLS,
    Tracers,
    filter_,
    get_frame,
    giving_back,
    in_use,
    map_,
    set_events,
    set_profile,
    set_trace,
    tuple_,
)
from .uncaught import show_exit, show_ignored, show_uncaught

_NOBODY = ("sys", 1) if sys.version_info < (3, 13) else ("<sys>", 0)
"""File and line that Python reports where ``stacklevel`` leads beyond the outermost frame."""


def blame_nobody_below(patches: Patches) -> None:
    """Correct file and line of warnings that would point to our frames, until the patches are undone."""
    patches.wrap(*SHOWS_WARNINGS, _wrap_show)


def _wrap_show(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def _showwarnmsg(message: Any) -> None:
        if _is_below((message.filename, message.lineno)):
            message.filename, message.lineno = _NOBODY
        original(message)

    return _showwarnmsg


def _is_below(place: tuple[str, int]) -> bool:
    """Whether a frame is the command line's or its callers', not the program's."""
    frame, below = getframe(), False
    while frame is not None:
        below = below or is_command_line(frame)
        if (frame.f_code.co_filename, frame.f_lineno) == place:
            return below
        frame = frame.f_back
    return False


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended."""

    code: int = 0
    """The number passed to ``sys.exit``."""
    error: BaseException | None = None
    """The uncaught exception that ended it, shown already; None for ``SystemExit``."""
    forked: bool = False
    """Whether this is a child that the program forked: results are its parent's business."""

    @property
    def interrupted(self) -> bool:
        """Whether it ended by an uncaught Ctrl-C."""
        return type(self.error) is KeyboardInterrupt


class Run:
    """One run of a program, from ``begin`` to ``end``; in between its caller executes what ``prepare`` returned.

    The process belongs to the program from ``begin`` on: ``__main__``, ``sys.argv``, ``sys.path`` and the current
    folder are left as it left them, its threads have ended and its ``atexit`` handlers have run.
    """

    def __init__(self, target: Target, failed: Callable[[BaseException], None] | None = None) -> None:
        """``failed`` is called with the exception that ended the program before its ``atexit`` handlers run.

        They may never return: those of MPI wait for other ranks, or end them all.
        """
        self._target, self._failed = target, failed
        self.before = Environment()
        """The state of the process before the program began."""
        self._main = types.ModuleType("__main__")
        self._process = os.getpid()
        self._patches = Patches()

    def begin(self) -> None:
        """Prepare the process for the program."""
        self.before = Environment()
        self._main = _fresh_main()
        sys.argv[:] = self._target.argv
        blame_nobody_below(self._patches)

    @property
    def prepare(self) -> Callable[[], Execute]:
        """Read and compile the program, and return the function that executes it without frames of ours below."""
        return partial(_PREPARE[self._target.kind], self._target, self._main)

    def end(self, error: BaseException | None, tracers: Tracers = NONE) -> Ending:
        """Show what ended the program, do what python does at the end, and return how it ended.

        ``tracers`` see what they see under python: the joining of threads and the ``atexit`` handlers.
        """
        _flush()
        ending = _show(error)
        if ending.error is not None and self._failed is not None and os.getpid() == self._process:
            self._failed(ending.error)
        _end_as_python_does(tracers)
        self._patches.undo()
        return Ending(ending.code, ending.error, forked=os.getpid() != self._process)


def leave(ending: Ending, failure: int = 0) -> NoReturn:
    """End the process as the program ended; ``failure`` is our own exit code, used when the program had none."""
    if ending.interrupted:
        leave_by_interrupt()
    raise SystemExit(ending.code or failure)


def _fresh_main() -> types.ModuleType:
    """Put a new ``__main__`` into ``sys.modules``, filled as python fills it before it knows what to run."""
    main = types.ModuleType("__main__")
    main.__loader__ = importlib.machinery.BuiltinImporter  # the class, as in python
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _show(error: BaseException | None) -> Ending:
    """Show what ended the program, as python does; called outside of any exception handler."""
    if error is None:
        return Ending()
    if isinstance(error, SystemExit):
        return Ending(show_exit(error))
    return Ending(show_uncaught(error), error)


def _end_as_python_does(tracers: Tracers) -> None:
    """Join the threads and run the ``atexit`` handlers, in the order of python's own shutdown.

    Both are what the interpreter calls when it ends; called again by it later they find nothing left to do.
    Joining by ``Thread.join`` would wait for ever for the idle workers of an executor that nobody shut down.
    """
    run_handlers = partial(run_exit_handlers)  # a profiler would see the call of the function itself
    get_frame().f_trace_lines = False
    for give_back in giving_back(tracers):
        give_back()
    try:
        join_threads()
    except BaseException as error:  # Ctrl-C while waiting: python reports it and continues, too
        show_ignored(error, threading)
    run_handlers()
    set_profile(None)
    set_trace(None)
    tuple_(map_(set_events, filter_(in_use, TOOLS), NOTHING))
    _flush()


def _flush() -> None:
    """Flush what the program wrote, so that our words come after it; a failure is python's to report."""
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except BaseException:
            pass


def _put_first(folder: str) -> None:
    """Replace the first entry of ``sys.path``, which is ours, by the one the program would have."""
    if not sys.flags.safe_path:
        sys.path[:1] = [folder]


def _prepare_script(target: Target, main: types.ModuleType) -> Execute:
    """Prepare a file, or the ``__main__.py`` of a folder or zip."""
    path = _absolute(target.text)
    if pkgutil.get_importer(path) is not None:
        sys.path[: 0 if sys.flags.safe_path else 1] = [path]
        return partial(module_runner(), "__main__", alter_argv=False)
    _put_first(os.path.dirname(os.path.realpath(path)))
    return partial(exec, _code_of(path, main), main.__dict__)


def _code_of(path: str, main: types.ModuleType) -> types.CodeType:
    """Return the code of a source or ``.pyc`` file, and set the loader and file in ``__main__``."""
    kind = importlib.machinery.SourceFileLoader
    if path.endswith(".pyc"):
        kind = importlib.machinery.SourcelessFileLoader  # type: ignore[assignment]
    loader = kind("__main__", path)
    main.__loader__ = loader
    _name_file(main, path)
    if path.endswith(".pyc"):
        return loader.get_code("__main__")  # type: ignore[return-value]
    with open(path, "rb") as file:
        source = file.read()
    return compile(kept_text(path) or source, path, "exec", dont_inherit=True)


def _prepare_module(target: Target, _main: types.ModuleType) -> Execute:
    """Prepare a module by name, run by the function that ``python -m`` itself calls."""
    _put_first(current_folder())
    return partial(module_runner(), target.text)


def _prepare_code(target: Target, main: types.ModuleType) -> Execute:
    """Prepare code from the command line; from 3.13 on Python's tracebacks show its lines."""
    _put_first("")
    text = target.text + "\n"
    keep_text("<string>", text.encode("utf-8", "surrogatepass"))
    if sys.version_info >= (3, 13):
        linecache.cache["<string>"] = (len(text), None, text.splitlines(keepends=True), "<string>")
    return partial(exec, compile(text, "<string>", "exec", dont_inherit=True), main.__dict__)


def _prepare_stdin(_target: Target, main: types.ModuleType) -> Execute:
    """Prepare the code on standard input, which is read to its end first."""
    _put_first("")
    _name_file(main, "<stdin>")
    source = b"" if sys.stdin is None else sys.stdin.buffer.read()  # closed
    keep_text("<stdin>", source)
    return partial(exec, compile(source, "<stdin>", "exec", dont_inherit=True), main.__dict__)


def _name_file(main: types.ModuleType, path: str) -> None:
    """Give ``__main__`` the file names that python gives it."""
    main.__file__ = path
    main.__dict__["__cached__"] = None


def _absolute(path: str) -> str:
    """Return a path as Python makes a script's path absolute: joined to the current folder, not normalised."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


_PREPARE = {"script": _prepare_script, "module": _prepare_module, "code": _prepare_code, "stdin": _prepare_stdin}
