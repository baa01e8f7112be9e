"""Tracks the module and the named scope that each thread of a PyTorch program is in."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import is_
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import is_foreign, user_frame
from ....program.modules import attributes_of, class_name, is_training
from ...module_names import Called, Roots, below
from ...origins import Marks, Settled
from ..library import LIBRARY
from ..private import private
from .mode import applied_from, put_back, take_off

_FAST_PATHS = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerEncoder")
"""Modules of torch.nn that compute differently (in eval mode) while any TorchFunctionMode is on."""
_OF_TORCH = "torch.nn.modules."
_FUNCTIONS = frozenset({"activation", "distance_function"})
"""Attributes in which modules of torch.nn store functions, perhaps the user's."""


class Running:
    """A running module, or an open scope: its name, and the state to restore when it ends."""

    __slots__ = (
        "above",
        "around",
        "identity",
        "inside",
        "mode",
        "mode_is_off",
        "path",
        "under_named",
    )

    around: tuple[str, FrameType | None, Settled | None, str, bool]
    """What the marks said before: scope, line, settled, word, and whether muted."""

    inside: str
    """The innermost running module: this one, or the one around it."""
    under_named: bool
    """Whether a scope of the user's is open."""
    mode_is_off: bool
    """Whether the mode is off while this one runs."""
    above: int
    """How many modes of the program were above the mode when it was removed."""

    def __init__(self, identity: int | str, path: str, marks: Marks, around: Running | None) -> None:
        self.identity = identity
        """For a module its id, for a named scope its name."""
        self.path = path
        """For a module its path; "" for a named scope."""
        self.around = marks.scope, marks.line, marks.settled, marks.word, marks.muted
        self.mode: Any = None
        """The mode, if this one removed or pushed it."""
        if around is None:
            self.inside, self.under_named, self.mode_is_off, self.above = path, not path, False, 0
        else:
            self.inside = path or around.inside
            self.under_named = around.under_named or not path
            self.mode_is_off, self.above = around.mode_is_off, around.above

    @property
    def was_muted(self) -> bool:
        """Whether gradients were off already when this one began."""
        return self.around[4]

    def leave(self, marks: Marks) -> None:
        """Restore the previous state."""
        marks.scope, marks.line, marks.settled, marks.word, marks.muted = self.around
        if self.mode is not None:
            if self.mode_is_off:
                put_back(self.mode, self.above)
            else:
                take_off(self.mode)


class Scopes:
    """The outermost modules of the watched program, and entering and leaving of modules."""

    def __init__(self, met: Callable[[Called], None], classes: dict[str, str]) -> None:
        """``classes`` collects the classes of running modules, by scope."""
        self._roots, self._classes = Roots(met), classes
        torch: Any = LIBRARY.torch
        self._counter = private().sequence_number
        self._has_grad = torch.is_grad_enabled
        self._call = getattr(getattr(torch.nn.Module, "_call_impl", None), "__code__", None)
        self._of_torch: set[type] = set()
        self._fast_paths = tuple(getattr(torch.nn, name) for name in _FAST_PATHS)
        own = vars(torch.nn.modules.module)
        self._hooks = own.get("_global_forward_pre_hooks", ()), own.get("_global_forward_hooks", ())

    def modules(self) -> list[tuple[str, Any]]:
        """Return the root modules that are still alive, in order of their first call, with names."""
        return self._roots.modules()

    def enter(self, module: Any, marks: Marks, stack: list[Running], mode: Any) -> None:
        """Handle a module that begins to run on this thread; ``stack`` holds the thread's running modules."""
        caller, made = getframe(2), self._counter()
        if made > marks.end:  # where lines are settled no custom Function of the user's runs
            marks.gap(made, (marks.settled is None and applied_from(caller)) or marks.line)
        outer = stack[-1] if stack else None
        around = "" if outer is None else outer.inside
        path = self._roots.path(module, around, caller)
        running, own = Running(id(module), path, marks, outer), attributes_of(module)
        if mode is not None:
            self._settle(module, own, running, marks, mode, caller)
        stack.append(running)
        marks.muted = not self._has_grad()
        marks.scope = f"{marks.scope}/{below(path, around)}" if running.under_named else path
        self._classes[marks.scope] = class_name(module) if own.get("_modules") else type(module).__name__
        # What a layer calls is the layer's doing, if it is one of the library's without layers of its own.
        marks.word = type(module).__name__ if marks.settled is not None and not own["_modules"] else ""

    def _settle(
        self, module: Any, own: dict[str, Any], running: Running, marks: Marks, mode: Any, caller: FrameType
    ) -> None:
        """Determine the line for a module's calls, and remove the mode where it has nothing to observe."""
        closed = self._is_closed(module, own)
        if closed and marks.settled is None:
            marks.settled = Settled(marks.line or user_frame(caller))
            marks.line = marks.settled.frame
        elif not closed and marks.settled is not None:
            marks.line = marks.settled = None
        by_fast_path = issubclass(type(module), self._fast_paths) and not is_training(module)
        off = by_fast_path or (closed and not mode.listeners and not mode.severing.listens)
        if off and not running.mode_is_off:
            above = take_off(mode)
            if above is not None:
                running.above, running.mode_is_off, running.mode = above, True, mode
                marks.line = marks.line or user_frame(caller)
        elif running.mode_is_off and not off:
            put_back(mode, running.above)
            running.mode_is_off, running.mode, marks.line = False, mode, None

    def _is_closed(self, module: Any, own: dict[str, Any]) -> bool:
        """Whether no user's code runs in a module: then all its calls are attributed to one line of the user.

        Modules inside it are checked separately.
        """
        cls = type(module)
        before, after = self._hooks
        if (
            own["_forward_pre_hooks"]
            or own["_forward_hooks"]
            or len(before) + len(after) > 2
            or "forward" in own
            or not (cls in self._of_torch or self._is_of_torch(cls))
        ):
            return False
        held = () if _FUNCTIONS.isdisjoint(own) else [own.get(name) for name in _FUNCTIONS]
        codes = (getattr(function, "__code__", None) for function in held)
        return not held or all(code is None or is_foreign(code) for code in codes)

    def _is_of_torch(self, cls: type) -> bool:
        """Whether a module class is one of torch.nn; those are cached, for they are never freed."""
        if cls.__module__.startswith(_OF_TORCH):
            self._of_torch.add(cls)
            return True
        return False

    def leave(self, module: Any, marks: Marks, stack: list[Running], args: Any, output: Any) -> None:
        """Handle a module that has ended, also by an exception; modules above it have ended, too."""
        self._leave(id(module), marks, stack, args, output)
        if marks.settled is not None and attributes_of(module)["_forward_hooks"]:
            marks.line = marks.settled = None  # its hooks are about to run: lines of their own

    def enter_named(self, name: str, marks: Marks, stack: list[Running]) -> None:
        """Handle a named scope that begins on this thread."""
        marks.gap(self._counter(), marks.line)
        stack.append(Running(name, "", marks, stack[-1] if stack else None))
        marks.scope = f"{marks.scope}/{name}".lstrip("/")

    def leave_named(self, name: str, marks: Marks, stack: list[Running]) -> None:
        """Handle its end."""
        self._leave(name, marks, stack)

    def _leave(
        self, identity: int | str, marks: Marks, stack: list[Running], args: Any = (), output: Any = None
    ) -> None:
        if not stack or (stack[-1].identity != identity and all(entry.identity != identity for entry in stack)):
            return
        made = self._counter()
        if made > marks.end:
            # What nobody saw being called, such as the region that torch.compile made of the module.
            in_place = any(map(is_, args, repeat(output)))
            marks.gap(made, marks.line or user_frame(getframe(2)), in_place=in_place)
        while stack:
            entry = stack.pop()
            entry.leave(marks)
            if entry.identity == identity:
                return

    def forget_stale(self, frame: FrameType | None, marks: Marks, stack: list[Running]) -> None:
        """End the modules if none is running: a caught KeyboardInterrupt ends them unnoticed."""
        depth = next((depth for depth, entry in enumerate(stack) if entry.path), None)
        if depth is None:
            return
        while frame is not None:
            if frame.f_code is self._call:
                return
            frame = frame.f_back
        while len(stack) > depth:
            stack.pop().leave(marks)
