"""Observes what programs do about modules and optimizers beside steps: modes, loaded states, gradient scaling."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ....events import Event
from ....program.frames import source_line, user_frame
from ....snapshot import SourceLine
from ...module_changes import ModuleChanges, loaded, switching
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
            data = switching(module, changed, mode, self._known())
            self.watching.send(Event("mode", "train" if mode else "eval", _line(), data))

    @guarded
    def state_loaded(self, module: Any, state: Any, result: Any) -> None:
        """A state was loaded into a module."""
        data = loaded(module, state, result, self._known())
        if data is not None:
            self.watching.send(Event("load", type(module).__name__, _line(), data))

    @guarded
    def scaling(self, function: str, optimizer: Any) -> None:
        """A loss was scaled, or gradients were unscaled."""
        known, groups = self._known(), getattr(optimizer, "param_groups", ())
        held = [known(one) for group in groups for one in group["params"]]
        data = {"inputs": [number for number in held if number is not None]}
        self.watching.send(Event("scaling", function, _line(), data))

    def _known(self) -> Callable[[Any], int | None]:
        return self.watching.sink.tensors.known


def _line() -> SourceLine | None:
    return source_line(user_frame(sys._getframe(2)))
