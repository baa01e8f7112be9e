"""Observes modes being switched: autocast, grad mode and inference mode, transforms of ``torch.func``."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from .....engine import transforms
from .....engine.devices import mixed_precision
from .....engine.nodes import internals
from .....engine.switches import modes
from .....engine.switches.state import STATE
from .....interpreter import getframe
from ....program.frames import is_ours, source_line
from ....recording.events import Event
from ...base import Sink
from ...call_data import Levels, Transforms, functional_call
from ...grad_switches import GradSwitches, Modes, Switching, place_of
from ..watching import Observer, Watching, guarded

# Observes `autocast` being entered and left.


class Autocasts(Observer):
    """Sends ``autocast``."""

    @guarded
    def autocast_switched(self, action: str, device: str, enabled: bool, dtype: str) -> None:
        """Note that calls are made in another dtype from now on, or no longer."""
        place = place_of(getframe(3), (mixed_precision.__file__,), is_ours)
        data: dict[str, Any] = {"action": action, "enabled": enabled, "dtype": dtype, **place.callee_data()}
        self.watching.send(Event("autocast", device, source_line(place.frame), data))


# Observes grad mode and inference mode being switched.


class GradModes(Observer):
    """Sends ``grad-mode``."""

    def __init__(self, watching: Watching, switches: GradSwitches) -> None:
        super().__init__(watching)
        self._switches = switches

    @guarded
    def grad_switched(self, action: str, switched: Any, before: tuple[bool, bool], now: tuple[bool, bool]) -> None:
        """Note that a mode was switched by an object, or by the function with this name."""
        bare = isinstance(switched, str)
        op, holder = (switched, None) if bare else (type(switched).__name__, switched)
        self._switches.switched(Switching(action, holder, op, Modes(*before), Modes(*now)), getframe(3))


def switches_of(sink: Sink) -> GradSwitches:
    """Return the grad switches of a recording."""
    return GradSwitches(sink, (modes.__file__, internals.__file__), _is_engines)


def _is_engines(code: CodeType) -> bool:
    return is_ours(code)


# Reads which transforms of `torch.func` a call is inside, and observes `functional_call`.

_FOLDER = os.path.join(os.path.dirname(str(transforms.__file__)), "")
_SAME = {"vjp": "grad", "jacrev": "grad", "jacfwd": "jvp"}
"""The engine names a level by the function that opens it, PyTorch by its kind."""


class FunctionalCalls(Observer):
    """Sends modules that are called with other tensors than their own."""

    @guarded
    def functional_called(self, given: dict[str, Any]) -> None:
        """Note that a module is about to be called so."""
        watching = self.watching
        watching.send(functional_call(given, getframe(2), lambda them: [watching.number(one) for one in them]))


def transforms_of(sink: Sink) -> Transforms:
    """Return the transforms of a recording."""
    return Transforms(sink, _function_of)


def levels_now() -> Levels:
    """Return the levels that are open on this thread."""
    return tuple(_SAME.get(kind, kind) for kind in STATE.transforms)


def _function_of(code: CodeType) -> str:
    function = code.co_qualname.partition(".")[0]
    return function if code.co_filename.startswith(_FOLDER) and not function.startswith("_") else ""
