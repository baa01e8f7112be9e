"""Makes warnings name the same source line as without recording.

``warnings`` counts stack frames to find the line to blame.  While a ``TorchFunctionMode`` is on there are more of
them: the mode's own, for PyTorch's functions written in Python ``handle_torch_function`` and a second call, and
for modules the detour through their hooks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ....program.frames import read_locals
from ..library import LIBRARY

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""The folder of the adapter: what lies in it is called only while somebody watches."""
_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
DEPTH = 2
"""Frames of ours above the one that called what is wrapped: the function below and the wrapper around it."""


def wrap_show(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a ``warnings._showwarnmsg`` that puts file and line right first."""

    def _showwarnmsg(message: Any) -> None:
        try:
            new = _put_right(message, sys._getframe(DEPTH))
        except Exception:  # show it as it is
            new = True
        if new:
            original(message)

    return _showwarnmsg


def _put_right(message: Any, frame: FrameType) -> bool:
    """Let a warning name the right line; False if that line has given this warning already."""
    frames = stack(frame)
    places = [(one.f_code.co_filename, one.f_lineno) for one in frames]
    place = places.index((message.filename, message.lineno))
    blamed, right = frames[place], unwatched(frames)[place]
    if right is blamed:
        return True
    given = (str(message.message), message.category, message.lineno)
    message.filename, message.lineno, message.line = right.f_code.co_filename, right.f_lineno, None
    return _note(given, blamed.f_globals, right.f_globals, right.f_lineno)


def stack(frame: FrameType | None) -> list[FrameType]:
    """Return a frame and all that called it."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def unwatched(frames: list[FrameType]) -> list[FrameType]:
    """Return the frames there would be without us, innermost first."""
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
    """Whether a module calls its ``forward`` from here only because our hooks are on, and has none of its own."""
    torch: Any = LIBRARY.torch
    module, caller = torch.nn.modules.module, frame.f_back
    if frame.f_code.co_name != "inner" or caller is None or caller.f_code is not module.Module._call_impl.__code__:
        return False
    called = read_locals(caller).get("self")
    return not (module._has_any_global_hook() or any(getattr(called, hooks) for hooks in _HOOKS))


def _note(given: tuple[Any, ...], blamed: dict[str, Any], right: dict[str, Any], line: int) -> bool:
    """Move the note that a line has warned, if there is one, to that line's own module; False if it stands there."""
    wrong = blamed.get("__warningregistry__", {})
    if wrong.pop(given, None) is None:
        return True  # shown always, or once for the whole program
    registry = right.setdefault("__warningregistry__", {})
    if registry.get("version") != wrong.get("version"):
        registry.clear()
        registry["version"] = wrong.get("version")
    key = (*given[:2], line)
    if key in registry:
        return False
    registry[key] = True
    return True
