"""Notices objects that a queue cannot send to another process: Python prints the error, and the
receiver keeps waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..program.signals import reraise_from_handler
from .late_patches import Patched, patched

_FEEDER = "QueueFeederThread"
"""Python's name for threads that send what was put into a queue; elsewhere the exception reaches the program."""
_MOST = 1000
"""Objects that are examined in a message."""


def lost_messages(report: Callable[[BaseException, list[Any]], None]) -> AbstractContextManager[None]:
    """Call ``report`` with the exception and the message's parts for each message that is lost inside the block."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def dumps(message: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(message, *args, **kwargs)
            except Exception as error:
                if threading.current_thread().name == _FEEDER:
                    _report(report, error, message)
                raise

        return dumps

    return patched([Patched("multiprocessing.reduction", "ForkingPickler.dumps", wrap)])


def _report(report: Callable[[BaseException, list[Any]], None], error: BaseException, message: Any) -> None:
    """Call ``report``; a failure of ours does not reach the program."""
    try:
        report(error, _parts(message))
    except Exception as failure:
        reraise_from_handler(failure)


def _parts(message: Any) -> list[Any]:
    """Return a message's parts, also those inside plain lists, tuples and dictionaries."""
    found, place = [message], 0
    while place < len(found) < _MOST:
        one = found[place]
        if type(one) in (list, tuple):
            found += one[:_MOST]
        elif type(one) is dict:
            found += list(one.values())[:_MOST]
        place += 1
    return found
