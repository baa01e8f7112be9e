"""Observes hooks: registered, removed, run, and whether they changed their argument."""

from __future__ import annotations

from types import FrameType
from typing import Any

from .....engine.core.base import TensorBase
from .....engine.nodes.node import GraphNode
from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ....program.places import SourceLine
from ... import array_values as values
from ...object_numbers import ObjectNumbers
from ...writers import hooks
from ..backward.facts import array_of
from ..watching import Observer, Watching, guarded

_OF_MODULES = "retrograd.nn.backward_hooks"
"""The module whose hooks on nodes run modules' backward hooks: they are not the program's."""


class Hooks(Observer):
    """Sends ``hook``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._writer = hooks.Hooks(watching.sink)
        self._coming: tuple[str, Any, dict[str, Any], SourceLine | None] | None = None
        """A hook that is about to be registered, and its target."""
        self._modules = ObjectNumbers()
        self._before: dict[int, tuple[list[float | None], bool]] = {}
        """By handle of a running hook: sums of its arguments, and whether one was nonzero."""

    @guarded
    def hooking(self, kind: str, target: Any, hook: Any) -> None:
        """Note that a hook is about to be registered."""
        if getattr(hook, "__module__", "") == _OF_MODULES:
            return
        line, on = source_line(user_frame(getframe(1))), dict[str, Any]()
        if isinstance(target, TensorBase):
            on["tensor"] = self.watching.number(target, line)
        elif isinstance(target, GraphNode) and not target.accumulates:
            on["node"] = target._sequence_nr() - self.watching.begin
        elif kind == "module":
            on |= {"owner": self._modules.of(target), "type": type(target).__name__}
            on["method"] = _method(getframe(1))
        self._coming = kind, hook, on, line

    @guarded
    def hooked(self, handle: int) -> None:
        """Note that it was registered under a handle."""
        coming, self._coming = self._coming, None
        if coming is not None:
            self._writer.registered(handle, *coming)

    @guarded
    def unhooked(self, handle: int) -> None:
        """Note that a handle was removed."""
        self._writer.removed(handle, source_line(user_frame(getframe(1))))

    @guarded
    def hook_began(self, handle: int, hook: Any, given: Any) -> None:
        """Note that a hook is about to run."""
        self._before[handle] = _sums(given), not _is_zero(given)

    @guarded
    def hook_ended(self, handle: int, hook: Any, given: Any, result: Any) -> None:
        """Note that it has run."""
        before, alive = self._before.pop(handle, ([], False))
        run, changed = self.watching.run, before != _sums(given)
        if changed and run is not None and run.measures is not None:
            run.measures.forget()
        zeroed = alive and _is_zero(given if result is None else (result,))
        self._writer.ran(handle, self.watching.run_number, returned=result is not None, in_place=changed, zeroed=zeroed)


def _method(frame: FrameType | None) -> str:
    """Return the method of modules that is registering a hook."""
    while frame is not None and not frame.f_code.co_name.startswith("register_"):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_name


def _sums(given: Any) -> list[float | None]:
    """Return the sums of a hook's gradients, to detect changes."""
    found: list[float | None] = []
    for one in given:
        for g in one if isinstance(one, (tuple, list)) else (one,):
            found.append(_sum(g) if isinstance(g, TensorBase) else None)
    return found


def _is_zero(given: Any) -> bool:
    """Whether the first gradient among a hook's arguments is all zeros."""
    first = given[0] if given else None
    return isinstance(first, TensorBase) and not array_of(first).any()


def _sum(g: TensorBase) -> float | None:
    total = values.range_and_sum(array_of(g))[1]
    return None if total != total else total
