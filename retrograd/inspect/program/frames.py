"""Finds the user's own lines on the call stack.

Frames of PyTorch, NumPy, the standard library, retrograd and the program's launcher are skipped. Other installed
packages are *libraries*: for their frames, the line is the user's that called into the library, together with its name.

Reading the variables of a running frame must leave nothing behind: up to Python 3.12 ``frame.f_locals`` is a dictionary
that stays with the frame and would keep the user's tensors alive, see ``read_locals``.
"""

from __future__ import annotations

import dis
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from types import CodeType, FrameType, TracebackType
from typing import Any

from ..bounded import BoundedDict
from .places import SourceLine

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
_SAMPLES = os.path.join(_PACKAGE, "_samples") + os.sep
_WATCHING = os.path.join(_PACKAGE, "inspect") + os.sep
_COMMAND_LINE = os.path.join(_PACKAGE, "cli", "main.py")
_STDLIB = tuple({sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib")})
_SITE = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_ARCHIVES = (".zip" + os.sep, ".egg" + os.sep, ".whl" + os.sep)
"""Suffixes of archives from which packages are imported without being unpacked."""
_SCRIPTS = sysconfig.get_path("scripts") + os.sep
"""Folder of the commands of installed packages: a line or two each, which call into the package."""
INTERCEPTORS = ("__torch_function__", "__torch_dispatch__")
"""Functions that only pass calls on: their frames are skipped."""
_LIBRARIES = ("torch", "numpy", "functorch", "typing_extensions")
"""The engines, and packages that wrap their functions."""
_RUNNERS = ("pytest", "_pytest", "pluggy", "xdist", "execnet", "IPython", "ipykernel")
"""Packages that run a user's code in a session; their variables are skipped."""
_OPTIMIZED = 1  # inspect.CO_OPTIMIZED: a function's frame, whose locals are no dictionary of their own
APPLY_DEPTH = 20
"""How many frames below ``Function.apply`` the first operation of a ``forward`` may be."""


class Whose(IntEnum):
    """The owner of a code object."""

    USER = 0
    LIBRARY = 1
    """An installed package that the program calls."""
    ENGINE = 2
    """PyTorch, NumPy, Python itself, retrograd or the program's runner: skipped everywhere."""


judged: dict[int, tuple[CodeType, bool]] = {}
"""id of a code object -> (the code, kept alive so that its id stays unique, whether it is skipped)."""
_owners: dict[int, Whose] = {}
"""Owners by id of the code object."""


_lines: BoundedDict[tuple[int, ...], tuple[tuple[CodeType, ...], SourceLine]] = BoundedDict(50_000)
"""ids of code objects and instructions -> (the code, kept alive as above, the line): look-ups are slow."""


def whose(code: CodeType) -> Whose:
    """Return the owner of a code object."""
    known = _owners.get(id(code))
    if known is None:
        known = _owners[id(code)] = Whose.ENGINE if code.co_name in INTERCEPTORS else _owner(code.co_filename)
        judged[id(code)] = (code, known is Whose.ENGINE)
    return known


def is_foreign(code: CodeType) -> bool:
    """Whether a code object is skipped: it belongs to an engine, Python itself, retrograd or a runner."""
    return whose(code) is Whose.ENGINE


def is_ours(code: CodeType) -> bool:
    """Whether a code object belongs to retrograd itself, samples excepted."""
    return code.co_filename.startswith(_PACKAGE) and not code.co_filename.startswith(_SAMPLES)


def is_users(code: CodeType) -> bool:
    """Whether a code object belongs to the program itself, not to a package that it calls."""
    return whose(code) is Whose.USER


def is_users_file(name: str) -> bool:
    """Whether a file belongs to the program itself."""
    return _owner(name) is Whose.USER


def _owner(name: str) -> Whose:
    """Return the owner of a file, by its folder."""
    if name.startswith(("<frozen ", "<eval_with_key>", "<__array_function__")):
        return Whose.ENGINE
    if name.startswith(_PACKAGE):
        return Whose.USER if name.startswith(_SAMPLES) else Whose.ENGINE
    package = _package_folder(name)
    if (name.startswith(_STDLIB) and not package) or name.startswith(_library_folders()):
        return Whose.ENGINE
    if not package or package == _package_folder(str(getattr(sys.modules.get("__main__"), "__file__", None))):
        return Whose.USER
    return Whose.LIBRARY


def _package_folder(name: str) -> str:
    """Return the folder or file of the installed package that contains a file, ``""`` if there is none."""
    for part in _SITE:
        before, found, after = name.rpartition(part)
        if found:
            return before + found + after.partition(os.sep)[0]
    for part in _ARCHIVES:
        before, found, _ = name.partition(part)
        if found:
            return before + part.rstrip(os.sep)
    return _SCRIPTS if name.startswith(_SCRIPTS) else ""


def _library_folders() -> tuple[str, ...]:
    """Folders, or single files, of the engines and runners that are imported now."""
    found = [sys.modules.get(name) for name in _LIBRARIES + _RUNNERS]
    files = ((getattr(one, "__file__", None), hasattr(one, "__path__")) for one in found)
    return tuple(os.path.dirname(file) + os.sep if folder else str(file) for file, folder in files if file)


def is_command_line(frame: FrameType) -> bool:
    """Whether this is the frame in which the command line runs a program: frames outside it are not the program's."""
    return frame.f_code.co_filename == _COMMAND_LINE


def forget_judgements() -> None:
    """Clear the caches of owners, which hold code objects or are out of date after an import."""
    judged.clear()
    _owners.clear()
    _lines.clear()


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the user, or of a library that the user called, from the given one outwards."""
    known_codes = judged
    while frame is not None:
        known = known_codes.get(id(frame.f_code))
        if not (is_foreign(frame.f_code) if known is None else known[1]):
            return frame
        frame = frame.f_back
    return None


def applying_frame(frame: FrameType | None, is_engine_file: Callable[[str], bool]) -> FrameType | None:
    """Return the user's frame that called ``Function.apply``, if the given one runs inside one's ``forward``.

    ``is_engine_file`` knows the file in which an engine defines ``apply``.
    """
    for _ in range(APPLY_DEPTH):
        if frame is None:
            return None
        if frame.f_code.co_name == "apply" and is_engine_file(frame.f_code.co_filename):
            return user_frame(frame)
        frame = frame.f_back
    return None


def user_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the program's frames, innermost first; those of libraries only if there are no others."""
    inside: list[FrameType] = []
    while frame is not None:
        owner = whose(frame.f_code)
        if owner is Whose.USER:
            inside.clear()
            yield frame
        elif owner is Whose.LIBRARY:
            inside.append(frame)
        frame = frame.f_back
    yield from inside


def stack_position(frame: FrameType | None) -> list[tuple[CodeType, int]]:
    """Return the program's position: code and instruction of each frame, innermost first."""
    places, known_codes = [], judged
    while frame is not None:
        code = frame.f_code
        known = known_codes.get(id(code))
        if not (is_foreign(code) if known is None else known[1]):
            places.append((code, frame.f_lasti))
        frame = frame.f_back
    return places


def function_around(code: CodeType) -> str:
    """Return the function that contains the code: a lambda or comprehension belongs to the enclosing function."""
    if not code.co_name.startswith("<"):
        return code.co_name
    parts = code.co_qualname.split(".")
    while parts and parts[-1].startswith("<"):
        parts.pop()
    return parts[-1] if parts else "<module>"


def source_line(frame: FrameType | None) -> SourceLine | None:
    """Return the line of a frame; for a library's, the user's line that called into it, and the library's name."""
    if frame is None:
        return None
    code = frame.f_code
    known = _lines.get(key := (id(code), frame.f_lasti))
    if known is None:
        if not is_users(code):
            return _line_around(frame)
        line = SourceLine(code.co_filename, frame.f_lineno or code.co_firstlineno, function_around(code))
        known = _lines[key] = ((code,), line)
    return known[1]


def _line_around(inner: FrameType) -> SourceLine:
    """Return the user's line that led to a library's frame; without one, the library's own line."""
    outer = inner.f_back
    while outer is not None and not is_users(outer.f_code):
        outer = outer.f_back
    frame = outer or inner
    key = (id(inner.f_code), inner.f_lasti, id(frame.f_code), frame.f_lasti)
    known = _lines.get(key)
    if known is None:
        code = frame.f_code
        inside = "" if outer is None else _place_inside(inner.f_code, inner.f_lineno)
        line = SourceLine(code.co_filename, frame.f_lineno or code.co_firstlineno, function_around(code), inside)
        known = _lines[key] = ((inner.f_code, code), line)
    return known[1]


def _place_inside(code: CodeType, line: int | None) -> str:
    """Return ``peft (layer.py:1102)`` for a line of a library."""
    package, file = _package_folder(code.co_filename), os.path.basename(code.co_filename)
    name = os.path.splitext(os.path.basename(package.rstrip(os.sep)))[0]
    return f"{name} ({file}:{line or code.co_firstlineno})"


def last_line(entry: TracebackType | None) -> SourceLine | None:
    """Return the innermost user's line in a traceback, and the library in which the exception was raised."""
    inner: TracebackType | None = None
    users: TracebackType | None = None
    while entry is not None:
        owner = whose(entry.tb_frame.f_code)
        inner = inner if owner is Whose.ENGINE else entry
        users = entry if owner is Whose.USER else users
        entry = entry.tb_next
    shown = users or inner
    if shown is None or inner is None:
        return None
    code = shown.tb_frame.f_code
    inside = "" if inner is shown else _place_inside(inner.tb_frame.f_code, inner.tb_lineno)
    return SourceLine(code.co_filename, shown.tb_lineno or code.co_firstlineno, function_around(code), inside)


def place_key(frame: FrameType | None) -> tuple[object, ...]:
    """Return a key for a frame's position: code and instruction, and for a library's also the user's line."""
    if frame is None:
        return (0, 0)
    code = frame.f_code
    return (id(code), frame.f_lasti) if is_users(code) else (id(code), frame.f_lasti, source_line(frame))


def last_return(code: CodeType) -> int | None:
    """Return the number of the last line with a ``return`` in a function."""
    lines = [
        instruction.positions.lineno
        for instruction in dis.get_instructions(code)
        if instruction.opname.startswith("RETURN_") and instruction.positions is not None
    ]
    return max((line for line in lines if line is not None), default=None)


def read_locals(frame: FrameType) -> dict[str, Any]:
    """Copy a frame's local variables without making the frame hold them.

    Until Python 3.12 the first look at ``f_locals`` of a function's frame makes a dictionary that lives as long
    as the frame and refers to every local: a tensor the user deletes afterwards would stay.  When nobody but
    the frame has that dictionary it is emptied again.  Where a function written in Python traces or profiles calls,
    it stays as it is: what it holds becomes the locals again when that function, which may have called us, returns.
    """
    current: Mapping[str, Any] = frame.f_locals
    copied = dict(current)
    held_by_frame_only = sys.getrefcount(current) == 3  # the frame, the variable, the argument of getrefcount
    calls_back = sys.gettrace() is not None or callable(sys.getprofile())  # a profiler written in C is not callable
    if held_by_frame_only and frame.f_code.co_flags & _OPTIMIZED and type(current) is dict and not calls_back:
        current.clear()
    return copied


def strip_own_frames(error: BaseException) -> None:
    """Remove retrograd's frames from an exception's traceback, which then reads as it would unwatched."""
    entries = []
    entry = error.__traceback__
    while entry is not None:
        name = entry.tb_frame.f_code.co_filename
        if not name.startswith(_PACKAGE) or name.startswith(_SAMPLES):
            entries.append(entry)
        entry = entry.tb_next
    following = None
    for one in reversed(entries):
        if one.tb_next is not following:
            one.tb_next = following
        following = one
    error.__traceback__ = following


def leave_no_frame(error: BaseException) -> None:
    """Remove our frames from the traceback of an exception that leaves us: the program may print it.

    For an ``except`` clause around what the program called, before a bare ``raise``, which adds no frame.
    """
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith(_WATCHING):
        entry = entry.tb_next
    error.__traceback__ = entry
