"""Which frames of a stack are ours, and the first that is not: the user's line."""

from __future__ import annotations

import os
from types import FrameType

ENGINE = os.path.dirname(__file__) + os.sep
"""How the names of the engine's files begin, generated code's included."""


def outside(frame: FrameType | None, ours: str | tuple[str, ...] = ENGINE) -> FrameType | None:
    """The innermost frame, this one or one around it, whose file name does not begin so; None if there is none."""
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    return frame
