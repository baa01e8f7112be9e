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
"""Entries of the longest columns that are remembered as equal."""
_SHARED = (*NODE_COLUMNS, *EDGE_COLUMNS, "roots", "root_names")
_read_shared = attrgetter(*_SHARED)


class KeptSnapshots:
    """Adds graphs to those of a recording; it knows no more of that, which so dies with its last reader."""

    def __init__(self, snapshots: list[Graph]) -> None:
        self._snapshots = snapshots
        self._columns = _Columns()
        self._graphs = 0
        self.count = 0
        """How many there were, without those that gave way to others: the number of the next one."""
        self.numbers: list[int] = []
        """Of those that are kept."""
        self._rows = 0
        self._full_at: Event | None = None
        """The event whose snapshot gives way to the next one, once the recording is full."""

    def keep(self, event: Event, snapshot: Graph) -> set[SourceLine]:
        """Add a snapshot, labelled by its place among graphs; return its lines that the one before does not have.

        It shares what is the same as in the one before; steps of a training loop mostly are.
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
        """Return how many nodes those graphs have whose numbers lie between these."""
        return list(map(len, self._snapshots[self._place(begin) : self._place(end)]))

    def drop(self, begin: int, end: int) -> None:
        """Drop the graphs with these numbers."""
        places = slice(self._place(begin), self._place(end))
        del self._snapshots[places], self.numbers[places]

    def _place(self, number: int) -> int:
        return bisect_left(self.numbers, number)

    def _share(self, snapshot: Graph, earlier: Graph) -> bool:
        """Let equal columns be one object; True if everything is the same."""
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
        """Count the nodes of a graph like no other; the one before gives way to it if there are too many."""
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
    """Compares columns, and remembers the latest equal ones: a source may give the same object again and again."""

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
    """Count sequence numbers from the oldest node on, so that two runs and two equal steps give the same."""
    first = min([number for number in snapshot.seq if number is not None], default=0)
    if first:
        snapshot.seq = [None if number is None else number - first for number in snapshot.seq]
        snapshot.first_seq += first
