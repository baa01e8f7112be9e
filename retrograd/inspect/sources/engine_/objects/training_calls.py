"""Observes training calls other than steps: modes of modules, loaded states, scaling, clipping."""

from __future__ import annotations

from typing import Any

from .....interpreter import getframe
from ....graphs.graph import SourceLine
from ....program.frames import source_line, user_frame
from ...writers.training import ModuleChanges, tell_clip, tell_load, tell_mode, tell_scaling
from ..watching import Observer, Watching, guarded


class TrainingCalls(Observer):
    """Sends ``mode``, ``load`` and ``scaling``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._changes = ModuleChanges()

    @guarded
    def switching(self, module: Any, mode: bool) -> None:
        """A module is about to be switched."""
        changed = self._changes.switched(module, mode)
        if changed:
            tell_mode(self.watching, module, self._changes.number(module), changed, mode, _line())

    @guarded
    def state_loaded(self, module: Any, state: Any, result: Any) -> None:
        """A state was loaded into a module."""
        tell_load(self.watching, module, state, result, _line())

    @guarded
    def scaling(self, function: str, optimizer: Any) -> None:
        """A loss was scaled, gradients were unscaled, or the scaler took a step."""
        tell_scaling(self.watching, function, optimizer, _line())


class Clipping(Observer):
    """Sends ``clip``, also where there is nothing to clip."""

    @guarded
    def clipping(self, function: str, parameters: list[Any], bound: Any, read_once: bool) -> None:
        """Gradients are about to be clipped."""
        tell_clip(self.watching, function, parameters, bound, self.watching.run_number, _line(), read_once=read_once)


def _line() -> SourceLine | None:
    return source_line(user_frame(getframe(2)))
