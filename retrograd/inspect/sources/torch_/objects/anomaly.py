"""Gives anomaly mode the stack that each node would have without recording, for its warnings."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from itertools import takewhile

from .....interpreter import getframe
from ....program.frames import is_command_line
from .warnings_ import DEPTH, stack, unwatched


def wrap_format(original: Callable[[], list[str]]) -> Callable[[], list[str]]:
    """Return a ``torch.fx.traceback.format_stack`` without our frames, around the program's and among them."""

    def format_stack() -> list[str]:
        if sys.modules[original.__module__].should_preserve_node_meta:
            return original()  # what a tracer says in place of a stack
        frames = takewhile(lambda frame: not is_command_line(frame), unwatched(stack(getframe(DEPTH))))
        return traceback.StackSummary.extract((frame, frame.f_lineno) for frame in [*frames][::-1]).format()

    return format_stack
