"""Which of the user's frames lead to a call, and which of them switched gradients off.

A ``with torch.no_grad():`` around a line is found in the syntax of its file, a decorator by its frame on the stack.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..bounded import BoundedDict
from ..event_data import Stack
from .blocks import block_around
from .frames import is_foreign, read_locals

_MAX_FRAMES = 8
_MAX_STEPS = 100
"""Frames of the longest path that is remembered."""
_DECORATOR = "decorate_context"
"""Name of the frame that stands between a decorated function and its caller, in PyTorch."""
_ON = ("enable_grad",)


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
    """Return the frames that an event lists, up to a limit."""
    frames: list[FrameType] = []
    while frame is not None and len(frames) < 4 * _MAX_FRAMES:
        if not is_foreign(frame.f_code) or frame.f_code.co_name == _DECORATOR:
            frames.append(frame)
        frame = frame.f_back
    return frames


def forget_stacks() -> None:
    """Hold no code objects any longer."""
    _known.clear()
    _latest.clear()


def _describe(frames: list[FrameType]) -> list[Stack]:
    """Describe the frames; the innermost switch of grad mode is the one in force."""
    found: list[Stack] = []
    switch: tuple[str, str] | None = None
    settled = False
    for frame in frames:
        if frame.f_code.co_name == _DECORATOR:
            if not settled:
                switch = _decorator(frame)
            continue
        entry = Stack(file=frame.f_code.co_filename, line=frame.f_lineno or 0, function=frame.f_code.co_name)
        if switch is not None and not settled:
            settled = True
            if switch[0] not in _ON:
                entry["grad_off"], entry["callee"] = switch
        block = None if settled else block_around(frame.f_code, entry["line"])
        if block is not None:
            settled = True
            if block[0] not in _ON:
                entry["grad_off"], entry["entered"] = block
        found.append(entry)
    return found[:_MAX_FRAMES]


def _decorator(frame: FrameType) -> tuple[str, str] | None:
    """Return which context manager a decorator's frame entered, and the name of the function it decorates."""
    local: dict[str, Any] = read_locals(frame)
    made = getattr(local.get("ctx_factory"), "__self__", None)
    if made is None:
        return None
    return type(made).__name__, str(getattr(local.get("func"), "__name__", ""))
