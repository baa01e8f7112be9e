"""The graphs of a recording: equal graphs share their columns; beyond a limit only the last one is kept."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter, is_
from typing import Any

from ..graphs.graph import EDGE_COLUMNS, NODE_COLUMNS, Graph
from ..program.places import SourceLine
from .events import Event

MAX_ROWS = 2_000_000
"""Nodes kept in one recording, about 1 GB; equal graphs count once.  Beyond that only the last graph is kept."""
_MOST_REMEMBERED = 50_000
"""Largest columns that are cached as equal."""
_SHARED = (*NODE_COLUMNS, *EDGE_COLUMNS, "roots", "root_names")
_read_shared = attrgetter(*_SHARED)


class KeptSnapshots:
    """Adds graphs to a recording, without a reference to it, so that it can be freed."""

    def __init__(self, snapshots: list[Graph]) -> None:
        self._snapshots = snapshots
        self._columns = _Columns()
        self._graphs = 0
        self.count = 0
        """Number of graphs so far, without replaced ones: the number of the next one."""
        self.numbers: list[int] = []
        """Numbers of the graphs that are kept."""
        self._rows = 0
        self._full_at: Event | None = None
        """Once the recording is full: the event whose snapshot is replaced by the next one."""

    def keep(self, event: Event, snapshot: Graph) -> set[SourceLine]:
        """Add a snapshot, labelled by its index; return its source lines that the previous one lacks.

        It shares equal columns with the previous one; steps of a training loop mostly have them.
        """
        snapshot.label = f"backward {self._graphs}"
        self._graphs += 1
        kept = self._snapshots
        earlier = kept[-1] if kept else None
        if earlier is None or not self._columns.are_equal("seq", snapshot.seq, earlier.seq):
            _number_from_zero(snapshot)
        if earlier is None or not self._share(snapshot, earlier):
            self._make_room(event, len(snapshot))
        event.data["snapshot"] = self.count
        kept.append(snapshot)
        self.numbers.append(self.count)
        self.count += 1
        if earlier is not None and snapshot.source is earlier.source:
            return set()
        return {line for line in snapshot.source if line is not None}

    def sizes(self, begin: int, end: int) -> list[int]:
        """Return the numbers of nodes of the graphs with numbers from ``begin`` to before ``end``."""
        return list(map(len, self._snapshots[self._place(begin) : self._place(end)]))

    def drop(self, begin: int, end: int) -> None:
        """Drop the graphs with these numbers."""
        places = slice(self._place(begin), self._place(end))
        del self._snapshots[places], self.numbers[places]

    def _place(self, number: int) -> int:
        return bisect_left(self.numbers, number)

    def _share(self, snapshot: Graph, earlier: Graph) -> bool:
        """Make equal columns one object; return whether all are equal."""
        same = snapshot.engine == earlier.engine and not snapshot.is_measured and not earlier.is_measured
        columns, known_columns = _read_shared(snapshot), _read_shared(earlier)
        if all(map(is_, columns, known_columns)):
            return same
        for column, mine, known in zip(_SHARED, columns, known_columns, strict=True):
            if mine is known:
                continue
            if self._columns.are_equal(column, mine, known):
                setattr(snapshot, column, known)
            else:
                same = False
        return same

    def _make_room(self, event: Event, rows: int) -> None:
        """Count the nodes of a new graph; if there are too many, it replaces the previous one."""
        if self._rows <= MAX_ROWS or not self._snapshots:
            self._rows += rows
            return
        if self._full_at is not None:
            self._full_at.data.pop("snapshot", None)
            self._snapshots.pop()
            self.numbers.pop()
            self.count -= 1
        self._full_at = event


class _Columns:
    """Compares columns, and caches the latest equal ones, since a source may pass the same object repeatedly."""

    def __init__(self) -> None:
        self._equal: dict[str, tuple[list[Any], list[Any]]] = {}

    def are_equal(self, name: str, mine: list[Any], known: list[Any]) -> bool:
        """Whether two columns are equal."""
        if mine is known:
            return True
        one, other = self._equal.get(name, (None, None))
        if one is mine and other is known:
            return True
        if mine != known:
            return False
        if len(mine) <= _MOST_REMEMBERED:
            self._equal[name] = (mine, known)
        return True


def _number_from_zero(snapshot: Graph) -> None:
    """Number nodes from the oldest on, so that equal runs and equal steps have equal numbers."""
    first = min([number for number in snapshot.seq if number is not None], default=0)
    if first:
        snapshot.seq = [None if number is None else number - first for number in snapshot.seq]
        snapshot.first_seq += first
