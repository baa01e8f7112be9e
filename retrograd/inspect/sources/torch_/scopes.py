"""Knows which module, and which scope that the user named, a PyTorch program is in on each thread."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...frames import user_frame
from ..module_names import Roots, below
from ..origins import Marks
from .mode import put_back, take_off

_FAST_PATHS = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerEncoder")
"""Modules of torch.nn that compute otherwise (in eval mode) while any TorchFunctionMode is on."""


class Running:
    """One module that is running, or scope that is open: what it is called, and what to go back to when it ends."""

    __slots__ = ("identity", "line", "mode", "path", "scope")

    def __init__(self, identity: int | str, path: str, scope: str, line: FrameType | None, mode: Any) -> None:
        self.identity = identity
        """Of a module its id, of a scope of the user's its name."""
        self.path = path
        """Of a module its place among modules; "" of a scope of the user's."""
        self.scope = scope
        self.line = line
        self.mode = mode


class Scopes:
    """The outermost modules of the watched program, and entering and leaving of modules."""

    def __init__(self, met: Callable[[str, Any, FrameType], None]) -> None:
        self._roots = Roots(met)
        torch: Any = sys.modules["torch"]
        self._counter = torch.autograd._get_sequence_nr
        self._call = torch.nn.Module._call_impl.__code__
        self._fast_paths = tuple(getattr(torch.nn, name) for name in _FAST_PATHS)

    def modules(self) -> list[tuple[str, Any]]:
        """Return the outermost modules that still live, in order of their first call, with names."""
        return self._roots.modules()

    def enter(self, module: Any, marks: Marks, stack: list[Running], mode: Any) -> None:
        """A module begins to run on this thread; ``stack`` holds the thread's running modules."""
        number = self._counter()
        caller = sys._getframe(2)
        marks.gap(number, marks.line)
        suspended = None
        line = marks.line
        if not module.training and isinstance(module, self._fast_paths) and mode is not None and take_off(mode):
            suspended = mode
            marks.line = marks.line or user_frame(caller)
        around = next((entry.path for entry in reversed(stack) if entry.path), "")
        path = self._roots.path(module, around, caller)
        named = any(not entry.path for entry in stack)
        stack.append(Running(id(module), path, marks.scope, line, suspended))
        marks.scope = f"{marks.scope}/{below(path, around)}" if named else path

    def leave(self, module: Any, marks: Marks, stack: list[Running]) -> None:
        """A module has ended, also by an exception; modules above it that never said so have ended, too."""
        self._leave(id(module), marks, stack)

    def enter_named(self, name: str, marks: Marks, stack: list[Running]) -> None:
        """A scope that the user named begins on this thread."""
        marks.gap(self._counter(), marks.line)
        stack.append(Running(name, "", marks.scope, marks.line, None))
        marks.scope = f"{marks.scope}/{name}".lstrip("/")

    def leave_named(self, name: str, marks: Marks, stack: list[Running]) -> None:
        """It has ended."""
        self._leave(name, marks, stack)

    def _leave(self, identity: int | str, marks: Marks, stack: list[Running]) -> None:
        if not any(entry.identity == identity for entry in stack):
            return
        marks.gap(self._counter(), marks.line)
        while stack:
            entry = stack.pop()
            marks.scope, marks.line = entry.scope, entry.line
            if entry.mode is not None:
                put_back(entry.mode)
            if entry.identity == identity:
                return

    def forget_stale(self, frame: FrameType | None, marks: Marks, stack: list[Running]) -> None:
        """End the modules if none is running: a KeyboardInterrupt that somebody caught ends them unheard."""
        depth = next((depth for depth, entry in enumerate(stack) if entry.path), None)
        if depth is None:
            return
        while frame is not None:
            if frame.f_code is self._call:
                return
            frame = frame.f_back
        first = stack[depth]
        marks.scope, marks.line = first.scope, first.line
        for entry in stack[depth:]:
            if entry.mode is not None:
                put_back(entry.mode)
        del stack[depth:]
