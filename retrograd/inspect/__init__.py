"""The inspector: walks, logs, records, draws and explains backward graphs of retrograd and of PyTorch.

Everything is loaded when first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of `_HOMES`
    from .breakpoints import BreakpointReached as BreakpointReached
    from .compare import compare as compare
    from .debug import debug as debug
    from .deliberate import deliberate as deliberate
    from .diagnose import diagnose as diagnose
    from .events import Event as Event
    from .events import Recording as Recording
    from .findings import Finding as Finding
    from .hooks_log import log_hooks as log_hooks
    from .loading import load_recording
    from .output import save as save
    from .record import recording as recording
    from .snapshot import GraphSnapshot as GraphSnapshot
    from .snapshot import SourceLine as SourceLine
    from .walk import walk as walk
    from .watch.run import watch as watch
    from .why import why as why

    load = load_recording

_HOMES = {
    "walk": ("walk", "walk"),
    "why": ("why", "why"),
    "log_hooks": ("hooks_log", "log_hooks"),
    "compare": ("compare", "compare"),
    "debug": ("debug", "debug"),
    "deliberate": ("deliberate", "deliberate"),
    "diagnose": ("diagnose", "diagnose"),
    "recording": ("record", "recording"),
    "watch": ("watch.run", "watch"),
    "save": ("output", "save"),
    "load": ("loading", "load_recording"),
    "BreakpointReached": ("breakpoints", "BreakpointReached"),
    "GraphSnapshot": ("snapshot", "GraphSnapshot"),
    "SourceLine": ("snapshot", "SourceLine"),
    "Recording": ("events", "Recording"),
    "Event": ("events", "Event"),
    "Finding": ("findings", "Finding"),
}
"""Public name -> (module of this package, name there)."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 -- a list of strings all the same


class _Inspector(ModuleType):
    """This package: loads public names on first use, and keeps ``walk`` a function where ``walk.py`` is loaded."""

    def __getattr__(self, name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        importlib.import_module(f"{__name__}.notebook")  # whoever has a graph may want to see it
        value = getattr(importlib.import_module(f"{__name__}.{home[0]}"), home[1])
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # The import system binds a loaded submodule here; a public name of the same spelling goes first.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_HOMES})


sys.modules[__name__].__class__ = _Inspector
