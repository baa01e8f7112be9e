"""``Run``: one backward pass of a recording, from its beginning to its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...graphs.graph import Graph
from ...program.places import SourceLine
from ...recording.events import Recording


@dataclass(slots=True, eq=False)
class Run:
    """One backward pass."""

    number: int
    begin: int
    """Row of the event that began it."""
    end: int
    """Row of the event that ended it, or the end of the recording."""
    source: SourceLine | None
    began: dict[str, Any]
    """Data of the event that began it."""
    ended: dict[str, Any] = field(default_factory=dict)
    _places: dict[int, int] | None = None

    @property
    def roots(self) -> list[int]:
        """Tensors that it started from."""
        return list(self.began.get("roots", ()))

    @property
    def inputs(self) -> list[int]:
        """Tensors whose gradient was asked for by name; empty means every leaf."""
        return list(self.began.get("inputs") or ())

    @property
    def accumulates(self) -> bool:
        """Whether it adds to ``.grad``."""
        return str(self.began.get("api", "backward")) == "backward"

    @property
    def retains(self) -> bool:
        """Whether saved values stayed for another run."""
        return bool(self.began.get("retain_graph") or self.began.get("create_graph"))

    @property
    def thread(self) -> int | None:
        """The thread that ran it."""
        return self.began.get("thread")

    @property
    def nested(self) -> bool:
        """Whether it ran inside another one."""
        return bool(self.began.get("nested"))

    @property
    def error(self) -> str:
        """Message of the exception that ended it, or that refused what it gave, or nothing."""
        return str(self.ended.get("error") or self.began.get("error") or "")

    @property
    def snapshot(self) -> int | None:
        """Number of its graph in the recording."""
        return self.began.get("snapshot")

    def places(self, snapshot: Graph) -> dict[int, int]:
        """Return sequence number -> node of the run's graph."""
        if self._places is None:
            first = snapshot.first_seq
            self._places = {first + seq: node for node, seq in enumerate(snapshot.seq) if seq is not None}
        return self._places


def runs_of(recording: Recording) -> list[Run]:
    """Return the backward passes of a recording in order."""
    found: list[Run] = []
    by_number: dict[Any, Run] = {}
    for row, event in enumerate(recording.events):
        if event.kind == "backward":
            run = Run(event.data.get("run", len(found)), row, len(recording.events), event.source, event.data)
            by_number[run.number] = run
            found.append(run)
        elif event.kind == "backward-end":
            ended = by_number.get(event.data.get("run", found[-1].number if found else None))
            if ended is not None:
                ended.end, ended.ended = row, event.data
    return found
