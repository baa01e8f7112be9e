"""Lines that switch grad mode or inference mode: which is in force on a thread, and their events.

Switches inside the engine (``Distribution.sample``, ``clip_grad_norm_``) are followed, too, but only reported where a
call loses its history because of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..program.frames import is_foreign, read_locals, source_line, user_frame
from ..program.places import SourceLine
from ..recording.events import Event
from .base import Sink

KIND = "grad-mode"
ENTERED, LEFT, SET = "entered", "left", "set"
"""Kinds of switches: a block begins or ends, or a statement switches for all that follows."""
_DECORATORS = ("decorate_context", "generator_context", "decorate_autocast")
"""Frames that enter the mode of a decorator around each call of the function that they close over as ``func``."""


class Modes(NamedTuple):
    """The modes of a thread."""

    grad: bool
    inference: bool


class Switching(NamedTuple):
    """One change of a mode, as an engine reports it."""

    action: str
    holder: Any
    """The context manager; None for a bare function."""
    op: str
    before: Modes
    now: Modes


class Place(NamedTuple):
    """Where a mode is switched, by a block, a statement or a decorator."""

    frame: FrameType | None
    """The user's frame."""
    callee: str
    """For a decorator, the decorated function; for an engine's own switch, the function that switches."""
    declared: SourceLine | None
    """The line of the decorator."""
    own: bool
    """Whether the engine switches for itself."""

    def callee_data(self) -> dict[str, Any]:
        """Return the event data about the function for which a mode is switched."""
        declared = {} if self.declared is None else {"declared": list(self.declared[:3])}
        return {"callee": self.callee, **declared} if self.callee else {}


class _Switch:
    """A mode in force, and the previous one."""

    __slots__ = ("action", "before", "event", "holder", "now", "row")

    def __init__(self, switching: Switching, before: _Switch | None, event: Event) -> None:
        self.action, self.holder, self.now = switching.action, id(switching.holder), switching.now
        self.before, self.event = before, event
        self.row: int | None = None
        """Index of its event, once sent."""


class _Here(threading.local):
    """State of one thread."""

    def __init__(self) -> None:
        self.switch: _Switch | None = None
        self.open: dict[int, list[_Switch]] = {}
        """Blocks that were not left yet, by the identity of the context manager."""


class GradSwitches:
    """The switches of one recording."""

    def __init__(self, sink: Sink, files: tuple[str, ...], is_engines: Callable[[CodeType], bool]) -> None:
        """``files`` contain the engine's own switches."""
        self._sink, self._files, self._is_engines = sink, files, is_engines
        self._here = _Here()

    def switched(self, switching: Switching, frame: FrameType | None) -> None:
        """Note that a mode is switched on this thread by the callee of ``frame``."""
        here = self._here
        place = place_of(frame, self._files, self._is_engines)
        if switching.action == LEFT:
            self._left(switching, place)
        elif not self._entered_after_all(switching):
            switch = _Switch(switching, here.switch, _event(switching, place))
            if not place.own:
                self._tell(switch)
            if switching.action == ENTERED:
                here.open.setdefault(switch.holder, []).append(switch)
            elif here.switch is not None and here.switch.action == SET:
                switch.before = here.switch.before  # nobody goes back to what a statement had set
            here.switch = switch

    def in_force(self, modes: Modes, *, cut: bool) -> int | None:
        """Return the index of the event that switched gradients off for a call that may have ``cut`` a history."""
        switch = self._here.switch
        while modes.inference and switch is not None and switch.before is not None and switch.before.now.inference:
            switch = switch.before  # what switches gradients on again does not undo an inference mode further out
        if switch is None or switch.now.inference is not modes.inference:
            return None  # switched where nobody hears it
        if not modes.inference and switch.now.grad is not modes.grad:
            return None
        if switch.row is None and cut:
            self._tell(switch)
        return switch.row

    def _entered_after_all(self, switching: Switching) -> bool:
        """Whether this is ``with set_grad_enabled(...)``, which switches when constructed and is entered then."""
        latest = self._here.switch
        if latest is None or (latest.action, latest.event.op) != (SET, switching.op) or switching.action != ENTERED:
            return False
        if latest.holder != id(switching.holder):
            return False
        latest.action = latest.event.data["action"] = ENTERED
        self._here.open.setdefault(latest.holder, []).append(latest)
        return True

    def _left(self, switching: Switching, place: Place) -> None:
        """Restore the modes from before a block."""
        here = self._here
        blocks = here.open.get(id(switching.holder))
        if not blocks:
            here.switch = None if switching.now == Modes(grad=True, inference=False) else here.switch
            return
        switch = blocks.pop()
        if not blocks:
            del here.open[id(switching.holder)]
        here.switch = switch.before
        if switch.row is not None:
            self._sink(_event(switching, place))

    def _tell(self, switch: _Switch) -> None:
        switch.row = self._sink(switch.event)


def place_of(frame: FrameType | None, files: tuple[str, ...], is_engines: Callable[[CodeType], bool]) -> Place:
    """Return where a mode is switched, searching outwards from a frame in one of these files, or from its caller."""
    decorated: Any = None
    while frame is not None and frame.f_code.co_filename in files:
        if frame.f_code.co_name in _DECORATORS:
            decorated = read_locals(frame).get("func", decorated)
        frame = frame.f_back
    code = getattr(decorated, "__code__", None)
    if code is not None:
        declared = SourceLine(code.co_filename, code.co_firstlineno, code.co_name)
        return Place(user_frame(frame), code.co_name, declared, is_engines(code))
    by = frame
    while by is not None and is_foreign(by.f_code) and not is_engines(by.f_code):
        by = by.f_back  # contextlib's
    own = by is not None and is_engines(by.f_code)
    return Place(user_frame(frame), by.f_code.co_name if own and by is not None else "", None, own)


def _event(switching: Switching, place: Place) -> Event:
    """Return the event of a switch."""
    before, now = switching.before, switching.now
    data: dict[str, Any] = {"action": switching.action, "grad": now.grad, "before": before.grad}
    if now.inference:
        data["inference"] = True
    if place.own:
        data["own"] = True
    return Event(KIND, switching.op, source_line(place.frame), data | place.callee_data())
