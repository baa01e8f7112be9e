"""Which of the user's frames lead to a call, and which of them switched gradients off.

A ``with torch.no_grad():`` around a line is found in the syntax of its file, a decorator by its frame on the stack.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..bounded import BoundedDict
from ..event_data import Stack
from .blocks import block_around
from .frames import is_foreign, is_users, read_locals, source_line

_MAX_FRAMES = 8
_MAX_STEPS = 100
"""Frames of the longest path that is remembered."""
_MOST_LOOKED_AT = 300
"""Frames of a stack that are looked at, those of libraries among them."""
_DECORATOR = "decorate_context"
"""Name of the frame that stands between a decorated function and its caller, in PyTorch."""
_ON = ("enable_grad",)
_INFERENCE = "inference_mode"


class Path(NamedTuple):
    """A way through the stack that was met, and what was found out about it."""

    steps: list[tuple[CodeType, int]]
    """Code and instruction of each frame that was looked at, innermost first."""
    whole: bool
    """Whether these are all."""
    stack: list[Stack]

    def leads_to(self, frame: FrameType) -> bool:
        """Whether this is the way to a frame."""
        around: FrameType | None = frame
        for code, instruction in self.steps:
            if around is None or around.f_code is not code or around.f_lasti != instruction:
                return False
            around = around.f_back
        return around is None or not self.whole


_latest: BoundedDict[tuple[int, int], Path] = BoundedDict(20_000)
"""The latest path by code and instruction of its innermost frame: mostly a place is reached the same way again."""
_known: BoundedDict[tuple[int, ...], tuple[tuple[CodeType, ...], list[Stack]]] = BoundedDict(20_000)


def stack_of(frame: FrameType | None) -> list[Stack]:
    """Return the user's frames, innermost first; the one that switched gradients off says how and in which line."""
    return [] if frame is None else path_to(frame).stack


def path_to(frame: FrameType) -> Path:
    """Return the way to a frame, with its stack."""
    path = _latest.get(key := (id(frame.f_code), frame.f_lasti))
    if path is None or not path.leads_to(frame):
        path = _follow(frame)
        if len(path.steps) <= _MAX_STEPS:
            _latest[key] = path
    return path


def _follow(frame: FrameType) -> Path:
    """Follow the stack from a frame outwards, as far as an event could list its frames."""
    places: list[int] = []
    steps: list[tuple[CodeType, int]] = []
    around: FrameType | None = frame
    while around is not None and len(places) < 8 * _MAX_FRAMES:
        code = around.f_code
        steps.append((code, around.f_lasti))
        if not is_foreign(code) or code.co_name == _DECORATOR:
            places += (id(code), around.f_lasti)
        around = around.f_back
    return Path(steps, around is None, _stack_at(frame, tuple(places)))


def _stack_at(frame: FrameType, key: tuple[int, ...]) -> list[Stack]:
    """The stack that leads to a frame; paths that differ in frames of libraries alone share it."""
    known = _known.get(key)
    if known is None:
        frames = _listed(frame)
        known = _known[key] = (tuple(one.f_code for one in frames), _describe(frames))
    return known[1]


def _listed(frame: FrameType | None) -> list[FrameType]:
    """Return the frames that an event lists and those of libraries and decorators between them, up to a limit."""
    frames: list[FrameType] = []
    users = 0
    while frame is not None and users < 4 * _MAX_FRAMES and len(frames) < _MOST_LOOKED_AT:
        if not is_foreign(frame.f_code) or frame.f_code.co_name == _DECORATOR:
            frames.append(frame)
            users += is_users(frame.f_code)
        frame = frame.f_back
    return frames


def forget_stacks() -> None:
    """Hold no code objects any longer."""
    _known.clear()
    _latest.clear()


def _describe(frames: list[FrameType]) -> list[Stack]:
    """Describe the user's frames; the innermost switch of grad mode is the one in force, a library's too.

    What switches gradients on again does not undo an inference mode further out.
    """
    called = [frame for frame in frames if frame.f_code.co_name != _DECORATOR]
    users = [frame for frame in called if is_users(frame.f_code)] or called
    found: list[Stack] = []
    switch: Switch | None = None
    settled = False
    for frame in frames:
        further = _switch_in(frame) if switch is None or switch.mode in _ON else None
        if further is not None and (switch is None or further.mode == _INFERENCE):
            switch, settled = further, False
        if frame not in users:
            continue
        line = source_line(frame if found else called[0])
        assert line is not None
        entry = Stack(file=line.file, line=line.line, function=line.function)
        if line.inside:
            entry["inside"] = line.inside
        if switch is not None and not settled:
            settled = True
            switch.say_in(entry)
        found.append(entry)
    return found[:_MAX_FRAMES]


class Switch(NamedTuple):
    """What changed grad mode."""

    mode: str
    entered: int = 0
    """Line of the ``with`` statement."""
    callee: str = ""
    """Name of the decorated function."""

    def say_in(self, entry: Stack) -> None:
        """Note it in the frame of the user that did it, or that called the library which did."""
        if self.mode in _ON:
            return
        entry["grad_off"] = self.mode
        if self.entered and "inside" not in entry:
            entry["entered"] = self.entered
        elif self.callee:
            entry["callee"] = self.callee


def _switch_in(frame: FrameType) -> Switch | None:
    """Return the change of grad mode in force at a frame, by a decorator's or a ``with`` around its line."""
    if frame.f_code.co_name == _DECORATOR:
        return _decorator(frame)
    block = block_around(frame.f_code, frame.f_lineno or 0)
    return None if block is None else Switch(*block)


def _decorator(frame: FrameType) -> Switch | None:
    """Return which context manager a decorator's frame entered, and the name of the function it decorates."""
    local: dict[str, Any] = read_locals(frame)
    made = getattr(local.get("ctx_factory"), "__self__", None)
    if made is None:
        return None
    return Switch(type(made).__name__, callee=str(getattr(local.get("func"), "__name__", "")))
