"""``Recording``: what one run did, as snapshots plus one stream of events, free of any engine.

The stream is a list of ``Event`` in the order in which things happened.  It is meant to hold causes: who cut a
chain, who wrote in place, who freed a graph, who never ran, each with the user's line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .snapshot import GraphSnapshot, SourceLine

SCHEMA = 1
"""Schema number of saved recordings; raised whenever an older reader would misread a file."""


@dataclass(slots=True)
class Event:
    """One thing that happened.

    ``kind`` is one of ``"backward"`` (a backward run began; ``data["snapshot"]`` is its index),
    ``"backward-end"``, ``"operation"``, ``"inplace"``, ``"cut"``, ``"hook"``, ``"node"``, ``"accumulate"``,
    ``"leaf"``, ``"freed"``, ``"error"``.
    """

    kind: str
    op: str = ""
    source: SourceLine | None = None
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Recording:
    """Snapshots (one per backward run, in order) and events of one run, with the user's source lines."""

    script: str = ""
    """What was run: a path, ``-m module``, ``-c``; empty for ``rg.debug()``."""
    engine: str = ""
    created: str = ""
    """ISO 8601 time; empty in golden tests."""
    snapshots: list[GraphSnapshot] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sources: dict[str, dict[int, str]] = field(default_factory=dict)
    """File -> line number -> text, for the lines that snapshots and events mention."""
    schema: int = SCHEMA
