"""Observes grad mode and inference mode being switched."""

from __future__ import annotations

from types import CodeType
from typing import Any

from .....engine.graph import internals
from .....engine.switches import modes
from .....interpreter import getframe
from ....program.frames import is_ours
from ...base import Sink
from ...grad_switches import GradSwitches, Modes, Switching
from ..watching import Observer, Watching, guarded


class GradModes(Observer):
    """Sends ``grad-mode``."""

    def __init__(self, watching: Watching, switches: GradSwitches) -> None:
        super().__init__(watching)
        self._switches = switches

    @guarded
    def grad_switched(self, action: str, switched: Any, before: tuple[bool, bool], now: tuple[bool, bool]) -> None:
        """A mode was switched by an object, or by the function of this name."""
        bare = isinstance(switched, str)
        op, holder = (switched, None) if bare else (type(switched).__name__, switched)
        self._switches.switched(Switching(action, holder, op, Modes(*before), Modes(*now)), getframe(3))


def switches_of(sink: Sink) -> GradSwitches:
    """Return what follows the switches of a recording."""
    return GradSwitches(sink, (modes.__file__, internals.__file__), _is_engines)


def _is_engines(code: CodeType) -> bool:
    return is_ours(code)
