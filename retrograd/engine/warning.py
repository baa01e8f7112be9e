"""Warnings of the engine: each names the user's line, however many of our frames lie in between."""

from __future__ import annotations

import os
import sys
import warnings

_ENGINE = os.path.dirname(__file__)
_OURS = tuple(os.path.join(os.path.dirname(_ENGINE), room, "") for room in (os.path.basename(_ENGINE), "nn"))


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the engine and ``nn``.

    How many frames of ours are above differs: generated calls have fewer, functions that ask subclasses have more.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
