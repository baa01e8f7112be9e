"""The inspector: walks, logs, records, draws and explains backward graphs of retrograd and of PyTorch.

Everything is loaded when first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of `_HOMES`
    from .blocks import debug as debug
    from .blocks import record as record
    from .breakpoints import BreakpointReached as BreakpointReached
    from .breakpoints import breakpoint as breakpoint  # noqa: A004
    from .diagnose import diagnose as diagnose
    from .differences import diff as diff
    from .events import Event as Event
    from .events import Recording as Recording
    from .findings import Finding as Finding
    from .gradient_reason import why as why
    from .hooks_log import log_hooks as log_hooks
    from .intent import deliberate as deliberate
    from .loading import load_recording
    from .snapshot import GraphSnapshot as GraphSnapshot
    from .snapshot import SourceLine as SourceLine
    from .walker import walk as walk
    from .watch.run import watch as watch

    load = load_recording

_HOMES = {
    "walk": ("walker", "walk"),
    "why": ("gradient_reason", "why"),
    "log_hooks": ("hooks_log", "log_hooks"),
    "breakpoint": ("breakpoints", "breakpoint"),
    "diff": ("differences", "diff"),
    "debug": ("blocks", "debug"),
    "deliberate": ("intent", "deliberate"),
    "diagnose": ("diagnose", "diagnose"),
    "record": ("blocks", "record"),
    "watch": ("watch.run", "watch"),
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
    """This package: loads public names on first use, and keeps ``diagnose`` a function where its package is loaded."""

    def __getattr__(self, name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
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
