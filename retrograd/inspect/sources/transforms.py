"""Transforms of ``torch.func`` around a call: reports a call that is the first inside other transforms."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..graphs.graph import SourceLine
from ..program.frames import is_foreign, source_line, user_frame
from ..recording.events import Event
from ..recording.shared_parts import shared_texts
from .base import Sink

Levels = tuple[str, ...]
"""What each level does, the outermost first: ``grad`` (also that of ``vjp``), ``jvp``, ``vmap``."""


class _Here(threading.local):
    """What belongs to one thread."""

    levels: Levels = ()


class Transforms:
    """The transforms that one recording has seen."""

    def __init__(self, sink: Sink, function_of: Callable[[CodeType], str]) -> None:
        """``function_of`` names the function of ``torch.func`` that a code object is part of, or says nothing."""
        self._sink, self._function_of = sink, function_of
        self._here = _Here()

    @property
    def open(self) -> bool:
        """Whether the latest call on this thread was within one."""
        return bool(self._here.levels)

    def look(self, levels: Levels, frame: FrameType, user: FrameType | None) -> None:
        """A call is made within these, for a frame of the user's, by whatever frame."""
        before = self._here.levels
        if levels == before:
            return
        self._here.levels = levels
        applied = self._applied(frame)
        op, line = applied[-1] if applied else ("", source_line(user))
        data: dict[str, Any] = {
            "action": "entered" if len(levels) > len(before) else "left",
            "levels": list(levels),
            "applied": [[name, *line.plain()[:3]] for name, line in applied],
        }
        self._sink(Event("transform", op, line, data))

    def _applied(self, inner: FrameType) -> list[tuple[str, SourceLine]]:
        """Return the functions of ``torch.func`` that the program applied around a frame, outermost first, by lines."""
        found: list[tuple[str, SourceLine]] = []
        name = ""
        frame: FrameType | None = inner
        while frame is not None:
            function = self._function_of(frame.f_code)
            if function:
                name = function
            elif name and not is_foreign(frame.f_code):
                line = source_line(frame)
                if line is not None:
                    found.append((name, line))
                name = ""
            frame = frame.f_back
        return found[::-1]


def functional_call(given: dict[str, Any], caller: FrameType, numbers: Callable[[list[Any]], list[int]]) -> Event:
    """Return the event of a module that is called with these tensors in place of its own."""
    data = {"action": "called", "names": shared_texts(list(given)), "inputs": numbers(list(given.values()))}
    return Event("transform", "functional_call", source_line(user_frame(caller)), data)
