"""The data of a call's event, written once for both engines: also the modes and transforms around the call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any

from ..program.frames import is_foreign, source_line, user_frame
from ..program.places import SourceLine
from ..program.spelling import is_name
from ..recording.events import Event
from ..recording.journal import Rows
from ..recording.shared_parts import shared_texts
from .base import Sink

# The modes in force when a call was made, in the form of notes and of events.

Surroundings = tuple[bool, bool, str, int | None, int | None]
"""Grad mode, inference mode, scope, number of the backward pass, index of the event that switched gradients off."""


def described(surroundings: Surroundings) -> dict[str, Any]:
    """Return surroundings as keys of an event's data."""
    grad, inference, scope, run, switch = surroundings
    data: dict[str, Any] = {"grad": grad}
    if inference:
        data["inference"] = True
    if scope:
        data["scope"] = scope
    if run is not None:
        data["run"] = run
    if switch is not None:
        data["switch"] = switch
    return data


# Transforms of `torch.func` around a call: reports a call that is the first inside other transforms.

Levels = tuple[str, ...]
"""Kind of each level, the outermost first: ``grad`` (also for ``vjp``), ``jvp``, ``vmap``."""


class _Here(threading.local):
    """State of one thread."""

    levels: Levels = ()


class Transforms:
    """The transforms that one recording has seen."""

    def __init__(self, sink: Sink, function_of: Callable[[CodeType], str]) -> None:
        """``function_of`` returns the function of ``torch.func`` that contains a code object, or ""."""
        self._sink, self._function_of = sink, function_of
        self._here = _Here()

    @property
    def open(self) -> bool:
        """Whether the latest call on this thread was inside a transform."""
        return bool(self._here.levels)

    def look(self, levels: Levels, frame: FrameType, user: FrameType | None) -> None:
        """Note the levels of a call, made for the user's frame ``user`` by ``frame``."""
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
        """Return the functions of ``torch.func`` applied around a frame, outermost first, with lines."""
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


# The data of a call's event, written once for both engines.

Measured = tuple[Sequence[float] | None, float | None]
"""Range and sum of a result."""
Named = tuple[Sequence[int], Sequence[str]]
"""Tensors, and the text of each in the line."""


def call_data(
    around: Surroundings, given: Named, made: Named, figures: Sequence[Measured], **more: Any
) -> dict[str, Any]:
    """Return the data of a call's event, without empty entries."""
    data: dict[str, Any] = {"inputs": list(given[0]), "names": shared_texts(given[1]), **described(around)}
    data["outputs"], data["output_names"] = list(made[0]), shared_texts(made[1])
    if any(limits is not None or total is not None for limits, total in figures):
        data["range"] = [None if limits is None else list(limits) for limits, _ in figures]
        data["checksum"] = [total for _, total in figures]
    data.update((key, value) for key, value in more.items() if value)
    return data


def say_made(outputs: Iterable[int], inputs: Collection[int], row: int, rows: Rows) -> None:
    """Set the event that made new results."""
    for number in outputs:
        if rows[number].made_by is None and number not in inputs:
            rows[number].made_by = row


def give_names(numbers: Sequence[int], texts: Sequence[str], rows: Rows) -> None:
    """Name tensors without a name by their text in the line."""
    for number, text in zip(numbers, texts, strict=True):
        if text and not rows[number].name:
            rows[number].name = worthy(text)


@functools.lru_cache(maxsize=20_000)
def worthy(text: str) -> str:
    """Return a text if a user would call a tensor so, else ""."""
    return text if text and is_name(text) else ""
