"""Errors raised by the program's signal handlers: they may arrive while our code runs, and are not our failures.

A handler that ends what takes too long raises wherever the program happens to be.  Code that keeps our own failures
from the program must raise these again, as ``KeyboardInterrupt`` propagates by itself.
"""

from __future__ import annotations

from types import FrameType


def reraise_from_handler(failure: BaseException) -> None:
    """Raise a caught error again if a signal handler raised it."""
    if is_from_handler(failure):
        raise failure


def is_from_handler(failure: BaseException) -> bool:
    """Whether a function in an error's traceback got the frame that called it, as signal handlers do."""
    entry = failure.__traceback__
    while entry is not None and entry.tb_next is not None:
        if _is_given(entry.tb_next.tb_frame, entry.tb_frame):
            return True
        entry = entry.tb_next
    return False


def _is_given(called: FrameType, caller: FrameType) -> bool:
    """Whether a variable of a frame, or an entry of ``*args``, is the frame that called it."""
    return any(
        value is caller or (type(value) is tuple and any(one is caller for one in value))
        for value in called.f_locals.values()
    )
