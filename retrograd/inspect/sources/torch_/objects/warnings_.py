"""Makes warnings, also of anomaly mode, name the same source line as without recording."""

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from itertools import takewhile
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import is_command_line, read_locals
from ..library import LIBRARY
from ..problems import safely
from ..watching.own_numbers import program_has_global_hooks

# Makes warnings name the same source line as without recording.

_OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)) + os.sep
"""The folder of the inspector: its frames are between a program and PyTorch only while watching."""
_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
DEPTH = 2
"""Frames of ours above the caller of the wrapped function: the function below and the wrapper around it."""


class _Deciding(threading.local):
    """Whether a warning is being issued again on this thread, now at the right place."""

    again = False


_DECIDING = _Deciding()


def wrap_show(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a ``warnings._showwarnmsg`` that issues a warning again at the place it would have unwatched.

    The program's filters are applied again there: they may turn it into an error, or ignore it.
    """

    def _showwarnmsg(message: Any) -> None:
        right = None if _DECIDING.again else safely(_right_place, message, getframe(DEPTH))
        if right is None:
            original(message)
            return
        _DECIDING.again = True
        try:
            warnings.warn_explicit(
                message.message,
                message.category,
                right.f_code.co_filename,
                right.f_lineno,
                right.f_globals.get("__name__") or "<string>",
                right.f_globals.setdefault("__warningregistry__", {}),
                source=message.source,
            )
        finally:
            _DECIDING.again = False

    return _showwarnmsg


def _right_place(message: Any, frame: FrameType) -> FrameType | None:
    """Return the frame to blame for a warning, None if it was right; the registry entry of the other is removed."""
    frames = stack(frame)
    places = [(one.f_code.co_filename, one.f_lineno) for one in frames]
    if (message.filename, message.lineno) not in places:
        return None
    place = places.index((message.filename, message.lineno))
    blamed, seen = frames[place], unwatched(frames)
    if place >= len(seen) or seen[place] is blamed:
        return None
    given = (str(message.message), message.category)
    noted = blamed.f_globals.get("__warningregistry__", {})
    for key in ((*given, message.lineno), (*given, 0), given):
        noted.pop(key, None)
    vars(warnings).get("onceregistry", {}).pop(given, None)
    return seen[place]


def stack(frame: FrameType | None) -> list[FrameType]:
    """Return a frame and its callers."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def unwatched(frames: list[FrameType]) -> list[FrameType]:
    """Return the frames there would be unwatched, innermost first."""
    kept: list[FrameType] = []
    skip = 0
    for place, frame in enumerate(frames):
        if skip:
            skip -= 1
        elif frame.f_code.co_filename.startswith(_OURS):
            caller = frames[place + 1].f_code.co_name if place + 1 < len(frames) else ""
            skip = 2 if caller == "handle_torch_function" else 0
        elif not _is_detour(frame):
            kept.append(frame)
    return kept


def _is_detour(frame: FrameType) -> bool:
    """Whether a module calls its ``forward`` from here only because of our hooks."""
    torch: Any = LIBRARY.torch
    module, caller = torch.nn.modules.module, frame.f_back
    if frame.f_code.co_name != "inner" or caller is None or caller.f_code is not module.Module._call_impl.__code__:
        return False
    called = read_locals(caller).get("self")
    return not (program_has_global_hooks() or any(getattr(called, hooks) for hooks in _HOOKS))


# Gives anomaly mode the stack that each node would have without recording, for its warnings.


def wrap_format(original: Callable[[], list[str]]) -> Callable[[], list[str]]:
    """Return a ``torch.fx.traceback.format_stack`` without our frames, around the program's and among them."""

    def format_stack() -> list[str]:
        if sys.modules[original.__module__].should_preserve_node_meta:
            return original()  # what a tracer says in place of a stack
        frames = takewhile(lambda frame: not is_command_line(frame), unwatched(stack(getframe(DEPTH))))
        return traceback.StackSummary.extract((frame, frame.f_lineno) for frame in [*frames][::-1]).format()

    return format_stack
