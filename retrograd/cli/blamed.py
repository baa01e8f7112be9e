"""Lets warnings that blame the caller of the program's module say what ``python`` says: there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..inspect.program.frames import is_command_line
from ..inspect.sources.patches import Patches
from ..interpreter import SHOWS_WARNINGS, getframe

_NOBODY = ("sys", 1) if sys.version_info < (3, 13) else ("<sys>", 0)
"""File and line that python names where ``stacklevel`` leads beyond the outermost frame."""


def blame_nobody_below(patches: Patches) -> None:
    """Put file and line of such warnings right when they are shown, until the patches are undone."""
    patches.wrap(*SHOWS_WARNINGS, _wrap_show)


def _wrap_show(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def _showwarnmsg(message: Any) -> None:
        if _is_below((message.filename, message.lineno)):
            message.filename, message.lineno = _NOBODY
        original(message)

    return _showwarnmsg


def _is_below(place: tuple[str, int]) -> bool:
    """Whether a place is that of the command line or of what called it, and of no frame of the program."""
    frame, below = getframe(), False
    while frame is not None:
        below = below or is_command_line(frame)
        if (frame.f_code.co_filename, frame.f_lineno) == place:
            return below
        frame = frame.f_back
    return False
