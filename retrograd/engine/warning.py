"""Warnings of the engine: each names the user's line, however many of our frames are in between."""

from __future__ import annotations

import os
import warnings

from ..interpreter import getframe
from .frames import ENGINE, TORCH_NAMES, outside

_OURS = (ENGINE, os.path.join(TORCH_NAMES, "nn", ""))

_said: set[str] = set()
_always = False


def set_warn_always(b: bool) -> None:
    """Set whether warnings that are shown once in a process are shown every time."""
    global _always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always() -> bool:
    """The current value of ``set_warn_always``."""
    return _always


def warn_once(message: str) -> None:
    """Warn once per message in a process (unless ``set_warn_always``)."""
    if _always or message not in _said:
        _said.add(message)
        warn(message)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the engine and ``nn``.

    How many frames of ours are above differs: generated calls have fewer, functions that ask subclasses have more.
    """
    frame = outside(getframe(), _OURS) or getframe()
    space = frame.f_globals
    registry = space.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, category, frame.f_code.co_filename, frame.f_lineno, space.get("__name__", "<string>"), registry
    )
