"""The user's frames that lead to a call."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import NamedTuple, TypedDict

from ..bounded import BoundedDict
from .frames import is_foreign, is_users, source_line

_MAX_FRAMES = 8
_MAX_STEPS = 100
"""Frames of the longest path that is cached."""
_MOST_LOOKED_AT = 300
"""Frames of a stack that are examined, including those of libraries."""


class StackFrame(TypedDict, total=False):
    """One frame of the user, innermost first in lists of these."""

    file: str
    line: int
    function: str
    inside: str
    """``"peft (layer.py:1102)"`` if this line called into a package, which made the call."""


class Path(NamedTuple):
    """A path through the stack that occurred before, and its description."""

    steps: list[tuple[CodeType, int]]
    """Code and instruction of each examined frame, innermost first."""
    whole: bool
    """Whether these are all frames."""
    stack: list[StackFrame]

    def leads_to(self, frame: FrameType) -> bool:
        """Whether a frame was reached by this path."""
        around: FrameType | None = frame
        for code, instruction in self.steps:
            if around is None or around.f_code is not code or around.f_lasti != instruction:
                return False
            around = around.f_back
        return around is None or not self.whole


_latest: BoundedDict[tuple[int, int], tuple[Path, ...]] = BoundedDict(20_000)
"""The latest few paths by code and instruction of the innermost frame, which mostly recur."""
_WAYS = 8
"""Cached paths for one line."""
_known: BoundedDict[tuple[int, ...], tuple[tuple[CodeType, ...], list[StackFrame]]] = BoundedDict(20_000)


def stack_of(frame: FrameType | None) -> list[StackFrame]:
    """Return the user's frames, innermost first."""
    return [] if frame is None else path_to(frame).stack


def path_to(frame: FrameType) -> Path:
    """Return the path to a frame, with its stack."""
    known = _latest.get(key := (id(frame.f_code), frame.f_lasti), ())
    for path in known:
        if path.leads_to(frame):
            return path
    path = _follow(frame)
    if len(path.steps) <= _MAX_STEPS:
        _latest[key] = (path, *known[: _WAYS - 1])
    return path


def _follow(frame: FrameType) -> Path:
    """Follow the stack outwards from a frame, through the frames that an event may list."""
    places: list[int] = []
    steps: list[tuple[CodeType, int]] = []
    around: FrameType | None = frame
    while around is not None and len(places) < 8 * _MAX_FRAMES:
        code = around.f_code
        steps.append((code, around.f_lasti))
        if not is_foreign(code):
            places += (id(code), around.f_lasti)
        around = around.f_back
    return Path(steps, around is None, _stack_at(frame, tuple(places)))


def _stack_at(frame: FrameType, key: tuple[int, ...]) -> list[StackFrame]:
    """Return the stack that leads to a frame; paths that differ only in libraries' frames share it."""
    known = _known.get(key)
    if known is None:
        frames = _listed(frame)
        known = _known[key] = (tuple(one.f_code for one in frames), _describe(frames))
    return known[1]


def _listed(frame: FrameType | None) -> list[FrameType]:
    """Return the frames that an event lists and those of libraries between them, up to a limit."""
    frames: list[FrameType] = []
    users = 0
    while frame is not None and users < 4 * _MAX_FRAMES and len(frames) < _MOST_LOOKED_AT:
        if not is_foreign(frame.f_code):
            frames.append(frame)
            users += is_users(frame.f_code)
        frame = frame.f_back
    return frames


def forget_stacks() -> None:
    """Clear the cache, which holds code objects."""
    _known.clear()
    _latest.clear()


def _describe(frames: list[FrameType]) -> list[StackFrame]:
    """Describe the user's frames; those of libraries only if there are no others."""
    found: list[StackFrame] = []
    for frame in [frame for frame in frames if is_users(frame.f_code)] or frames:
        line = source_line(frame if found else frames[0])
        assert line is not None
        entry = StackFrame(file=line.file, line=line.line, function=line.function)
        if line.inside:
            entry["inside"] = line.inside
        found.append(entry)
    return found[:_MAX_FRAMES]
