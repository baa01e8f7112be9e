"""Memory of saved tensors over time, as the page draws it."""

from __future__ import annotations

from typing import Any

from ...graphs.graph import Graph
from ...graphs.memory_line import MemoryLine, memory_line, thinned
from .structure import safe

_POINTS = 120
"""Points of each half of the line."""
_MOST = 6
"""Modules and lines of the program that are named."""


def memory_data(snapshot: Graph, *, retained: bool) -> dict[str, Any] | None:
    """Return the line of memory of one graph as JSON values, None where nothing is known."""
    line = memory_line(snapshot, retained=retained)
    if line is None:
        return None
    halves = (line.held[: line.forward], line.held[line.forward :])
    forward, backward = (thinned(half, _POINTS) for half in halves)
    return {
        "forward": forward,
        "backward": backward,
        "retained": retained,
        "most": line.most,
        "node": line.nodes[line.peak],
        **_holders(line),
    }


def _holders(line: MemoryLine) -> dict[str, Any]:
    """Return who holds most at the peak."""
    parts = {"modules": line.modules, "lines": line.lines}
    return {name: [[safe(one.what), one.held] for one in part[:_MOST]] for name, part in parts.items()}
