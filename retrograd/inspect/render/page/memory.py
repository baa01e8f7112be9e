"""Saved tensors as the page shows them: which they are, and their memory over time."""

from __future__ import annotations

from typing import Any

from ...graphs.graph import Graph
from ...graphs.memory_line import MemoryLine, memory_line, thinned
from ...graphs.saved_tensors import saved_tensors
from ...recording.events import Recording
from .. import labels
from .structure import safe

_POINTS = 120
"""Points of each half of the line."""
_MOST_SAVED = 20_000
"""Tensors of one graph that are listed."""
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


def saved_data(recording: Recording, step: int) -> list[list[Any]]:
    """Return per tensor that a node of a graph keeps: node, name, shape and dtype, its line, bytes, range of values."""
    kept = [row for rows in saved_tensors(recording, step).values() for row in rows][:_MOST_SAVED]
    return [
        [
            int(one.node[1:]),
            safe(one.name),
            labels.tensor_text(one.shape, one.dtype),
            safe(labels.source_text(one.source)),
            one.bytes,
            labels.range_text(one),
        ]
        for one in kept
    ]


def _holders(line: MemoryLine) -> dict[str, Any]:
    """Return who holds most at the peak."""
    parts = {"modules": line.modules, "lines": line.lines}
    return {name: [[safe(one.what), one.held] for one in part[:_MOST]] for name, part in parts.items()}
