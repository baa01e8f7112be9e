"""The inspector: records, walks, draws and diagnoses backward graphs of PyTorch and of retrograd's own engine.

Each name is imported on first use, so ``import retrograd.inspect`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of `_HOMES`
    from .blocks import debug as debug
    from .blocks import record as record
    from .breakpoints import BreakpointReached as BreakpointReached
    from .breakpoints import breakpoint as breakpoint  # noqa: A004
    from .diagnosis import diagnose as diagnose
    from .differences import diff as diff
    from .findings import Finding as Finding
    from .gradient_reason import Answer as Answer
    from .gradient_reason import why as why
    from .graphs.graph import Graph as Graph
    from .graphs.graph_diff import GraphDiff as GraphDiff
    from .hooks_log import log_hooks as log_hooks
    from .intent import deliberate as deliberate
    from .lineup.lineup import Lineup as Lineup
    from .program.places import SourceLine as SourceLine
    from .recording.events import Event as Event
    from .recording.events import Recording as Recording
    from .recording.loading import load_recording
    from .recording.stats import Statistics as Statistics
    from .render import RenderOptions as RenderOptions
    from .training.run import watch as watch
    from .walker import walk as walk

    load = load_recording

_HOMES = {
    "walk": ("walker", "walk"),
    "why": ("gradient_reason", "why"),
    "log_hooks": ("hooks_log", "log_hooks"),
    "breakpoint": ("breakpoints", "breakpoint"),
    "diff": ("differences", "diff"),
    "debug": ("blocks", "debug"),
    "deliberate": ("intent", "deliberate"),
    "diagnose": ("diagnosis", "diagnose"),
    "record": ("blocks", "record"),
    "watch": ("training.run", "watch"),
    "load": ("recording.loading", "load_recording"),
    "BreakpointReached": ("breakpoints", "BreakpointReached"),
    "Graph": ("graphs.graph", "Graph"),
    "SourceLine": ("program.places", "SourceLine"),
    "Recording": ("recording.events", "Recording"),
    "Event": ("recording.events", "Event"),
    "Finding": ("findings", "Finding"),
    "Statistics": ("recording.stats", "Statistics"),
    "Answer": ("gradient_reason", "Answer"),
    "GraphDiff": ("graphs.graph_diff", "GraphDiff"),
    "Lineup": ("lineup.lineup", "Lineup"),
    "RenderOptions": ("render", "RenderOptions"),
}
"""Public name -> (module of this package, name there)."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 -- a list of strings all the same


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{home[0]}"), home[1])
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
