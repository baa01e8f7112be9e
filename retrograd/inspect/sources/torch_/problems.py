"""Failures of recording: noted in the recordings, never raised into the program."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from ...program.signals import reraise_from_handler
from .own_work import own_work

PROBLEMS: list[str] = []
"""The first failures with their tracebacks, for our own tests."""
LISTENERS: list[Callable[[str], None]] = []
"""Called with each problem, to note it in the current recordings."""
_MOST = 20


def note_problem(problem: BaseException) -> None:
    """Note and report one of our own errors; the program's own are raised again."""
    reraise_from_handler(problem)
    if len(PROBLEMS) < _MOST:
        PROBLEMS.append("".join(traceback.format_exception(problem)))
    tell(f"{type(problem).__name__}: {problem}")


def tell(sentence: str) -> None:
    """Note in the current recordings that something is missing in them."""
    for listener in tuple(LISTENERS):
        listener(sentence)


def unseen(report: Callable[..., Any], *args: Any) -> None:
    """Call ``report`` unobserved by modes; failures do not reach the program."""
    try:
        with own_work():
            report(*args)
    except Exception as problem:
        note_problem(problem)


def safely(step: Callable[..., Any], *args: Any) -> Any:
    """Return the result of ``step``, None if it failed."""
    try:
        return step(*args)
    except Exception as problem:
        note_problem(problem)
        return None
