"""Knows which module, and which scope that the user named, a PyTorch program is in on each thread."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...frames import user_frame, user_frames
from ...names import frame_variables, search
from ..module_names import Root
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
        self._roots: dict[int, Root] = {}
        self._met = met
        """Told of an outermost module that was not known."""
        torch: Any = sys.modules["torch"]
        self._counter = torch.autograd._get_sequence_nr
        self._call = torch.nn.Module._call_impl.__code__
        self._fast_paths = tuple(getattr(torch.nn, name) for name in _FAST_PATHS)

    def modules(self) -> list[tuple[str, Any]]:
        """Return the outermost modules that still live, in order of their first call, with names."""
        return [(root.name, module) for root in list(self._roots.values()) if (module := root.ref()) is not None]

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
        path = self._path(module, around, caller)
        named = any(not entry.path for entry in stack)
        stack.append(Running(id(module), path, marks.scope, line, suspended))
        marks.scope = f"{marks.scope}/{_below(path, around)}" if named else path

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

    def _path(self, module: Any, parent: str, caller: FrameType) -> str:
        """Return the path of a module that begins to run inside another, or in none."""
        if not parent:
            root = self._root(module, caller)
            return root.path(module) or root.name
        top = parent.partition("/")[0]
        holder = next((root for root in self._roots.values() if root.name == top), None)
        known = None if holder is None else holder.path(module)
        if known is None and holder is not None:
            holder.refresh()
            known = holder.path(module)
        return known or f"{parent}/{type(module).__name__}"

    def _root(self, module: Any, caller: FrameType) -> Root:
        """Return what is known of an outermost module; a new one gets the name of the user's variable."""
        root = self._roots.get(id(module))
        if root is not None and root.ref() is module:
            return root
        for identity in [identity for identity, other in self._roots.items() if other.ref() is None]:
            del self._roots[identity]
        root = Root(module, self._unused(self._variable(module, caller)))
        root.refresh()
        self._roots[id(module)] = root
        self._met(root.name, module, caller)
        return root

    def _variable(self, module: Any, caller: FrameType) -> str:
        """Return the user's variable that holds a module, else the name of its class."""
        found = search(frame_variables(user_frames(caller)), {id(module)}, lambda value: False)
        name = found.variables.get(id(module), "").rpartition(".")[2].replace("/", "∕")
        return type(module).__name__ if name in ("", "self") else name

    def _unused(self, name: str) -> str:
        """Return a name that no other outermost module has."""
        taken = {root.name for root in self._roots.values()}
        number, unused = 1, name
        while unused in taken:
            number += 1
            unused = f"{name}_{number}"
        return unused


def _below(path: str, around: str) -> str:
    """Return what a module's path adds to that of the module around it."""
    if not around:
        return path
    return path[len(around) + 1 :] if path.startswith(f"{around}/") else path.rpartition("/")[2]
