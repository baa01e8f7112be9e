"""Finds the first frame of a stack that is not ours: the user's line."""

from __future__ import annotations

import os
import sys
import traceback
from itertools import takewhile
from types import FrameType

import numpy as np

ENGINE = os.path.dirname(__file__) + os.sep
"""Prefix of the engine's file names, generated code's included."""
TORCH_NAMES = os.path.join(sys.modules[__name__.partition(".")[0]].__path__[-1], "")
"""Prefix of the files of modules with PyTorch's names, such as ``retrograd.nn``."""
_COMMAND_LINE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "cli", "main.py")
_OURS = (ENGINE, os.path.dirname(np.__file__) + os.sep)


def outside(frame: FrameType | None, ours: str | tuple[str, ...] = ENGINE) -> FrameType | None:
    """The innermost frame, from this one outwards, whose file name does not have this prefix; None if there is none."""
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    return frame


def program_stack(frame: FrameType | None) -> list[str]:
    """The program's frames on the current stack, as ``traceback.format_stack`` returns them."""
    frames = takewhile(lambda entry: entry[0].f_code.co_filename != _COMMAND_LINE, traceback.walk_stack(frame))
    return traceback.StackSummary.extract(iter([*frames][::-1])).format()


def is_from_elsewhere(error: BaseException) -> bool:
    """Whether an error caught around a kernel was raised by neither us nor NumPy, but by code that ran in between.

    That is a signal's handler, a finalizer's or a tracer's, or a kernel that the program wrote: none of them means
    that the operands do not fit.
    """
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_OURS):
            return True
        entry = entry.tb_next
    return False
