"""Reads which transforms of ``torch.func`` a call is inside, and observes ``functional_call``."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from .....engine import transforms
from .....engine.switches.state import STATE
from .....interpreter import getframe
from ...base import Sink
from ...transforms import Levels, Transforms, functional_call
from ..watching import Observer, guarded

_FOLDER = os.path.join(os.path.dirname(str(transforms.__file__)), "")
_SAME = {"vjp": "grad", "jacrev": "grad", "jacfwd": "jvp"}
"""What the engine names by the function that opens a level, and PyTorch by what the level does."""


class FunctionalCalls(Observer):
    """Sends modules that are called with other tensors than their own."""

    @guarded
    def functional_called(self, given: dict[str, Any]) -> None:
        """A module is about to be called so."""
        watching = self.watching
        watching.send(functional_call(given, getframe(2), lambda them: [watching.number(one) for one in them]))


def transforms_of(sink: Sink) -> Transforms:
    """Return what follows the transforms of a recording."""
    return Transforms(sink, _function_of)


def levels_now() -> Levels:
    """Return the levels that are open on this thread."""
    return tuple(_SAME.get(kind, kind) for kind in STATE.transforms)


def _function_of(code: CodeType) -> str:
    function = code.co_qualname.partition(".")[0]
    return function if code.co_filename.startswith(_FOLDER) and not function.startswith("_") else ""
