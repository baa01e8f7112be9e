"""Which of the user's frames lead to a call, and which of them switched gradients off.

A ``with torch.no_grad():`` around a line is found in the syntax of its file, a decorator by its frame on the stack.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from ..bounded import BoundedDict
from ..event_data import Stack
from .blocks import block_around
from .frames import is_foreign, judged, read_locals

_MAX_FRAMES = 8
_DECORATOR = "decorate_context"
"""Name of the frame that stands between a decorated function and its caller, in PyTorch."""
_ON = ("enable_grad",)

_known: BoundedDict[tuple[int, ...], tuple[tuple[CodeType, ...], list[Stack]]] = BoundedDict(20_000)


def stack_of(frame: FrameType | None) -> list[Stack]:
    """Return the user's frames, innermost first; the one that switched gradients off says how and in which line."""
    places: list[int] = []
    around, known_codes = frame, judged
    while around is not None and len(places) < 8 * _MAX_FRAMES:
        code = around.f_code
        entry = known_codes.get(id(code))
        if not (is_foreign(code) if entry is None else entry[1]) or code.co_name == _DECORATOR:
            places += (id(code), around.f_lasti)
        around = around.f_back
    known = _known.get(key := tuple(places))
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
