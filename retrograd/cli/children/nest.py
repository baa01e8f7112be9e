"""The shared folder of a program and the processes it starts, with a file and a recording for each.

The name of a file holds the process's start time, its number, its ticket (by which its parent knows it) and its state.
Every change is a single rename or link, so that a process killed at any moment leaves nothing half done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

SEEN, BEGUN, TRAINED, QUIET, LEFT = "seen", "begun", "trained", "quiet", "left"
"""It runs, and nothing was to be recorded so far; it is being recorded; what was recorded, of one that ran a backward
pass or raised, and of one that did not; there were enough of them already."""
MOST = {TRAINED: 64, QUIET: 8}
"""Recordings that are kept: a program may make workers again and again."""
_STARTED = "started"


class Entry(NamedTuple):
    """One process that was there."""

    since: int
    process: int
    ticket: str
    state: str
    path: Path


class Nest:
    """The folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def start(self, ticket: str, process: int | None) -> None:
        """Note that a process was started, with its number if that is known."""
        try:
            (self.folder / f"{process or 0}.{ticket}.{_STARTED}").touch()
        except OSError:  # the program is over, and its folder gone
            pass

    def enter(self, ticket: str) -> Place:
        """Note that this process is here, and return its place; ``sitecustomize`` does the same."""
        place = Place(self, f"{time.monotonic_ns():020}.{os.getpid()}.{ticket}")
        place.become(SEEN)
        return place

    def entries(self) -> list[Entry]:
        """Return the processes that were here, the first first."""
        found = []
        for path in self.folder.iterdir():
            parts = path.name.split(".")
            if len(parts) == 4 and parts[0].isdigit() and parts[1].isdigit():
                found.append(Entry(int(parts[0]), int(parts[1]), parts[2], parts[3], path))
        return sorted(found)

    def recorded(self) -> list[Entry]:
        """Return the processes that have a recording."""
        return [entry for entry in self.entries() if entry.state in MOST]

    def left(self) -> int:
        """Return how many were recorded and left out."""
        return sum(entry.state == LEFT for entry in self.entries())

    def unrecorded(self) -> int:
        """Return of how many there is no recording, although there may have been something to record."""
        entries = self.entries()
        lost = {entry.process for entry in entries if entry.state == BEGUN}
        lost -= {entry.process for entry in entries if entry.state in MOST}  # it was saved on the way
        return len(lost) + sum(1 for _ in self._never_here(entries))

    def _never_here(self, entries: Sequence[Entry]) -> Iterator[str]:
        """Yield the tickets of those that were started and have not come, nor anything that they started."""
        processes, tickets = {entry.process for entry in entries}, {entry.ticket for entry in entries}
        for path in self.folder.glob(f"*.{_STARTED}"):
            process, ticket, _ = path.name.split(".")
            if int(process) not in processes and ticket not in tickets:
                yield ticket


class Place:
    """The file of one process."""

    def __init__(self, nest: Nest, name: str, state: str = "") -> None:
        self._nest, self._name, self._state = nest, name, state

    def path(self, state: str) -> Path:
        """Return what the file is called in a state."""
        return self._nest.folder / f"{self._name}.{state}"

    def become(self, state: str) -> None:
        """Say how far the process is."""
        try:
            if self._state:
                os.replace(self.path(self._state), self.path(state))
            else:
                self.path(state).touch()
        except OSError:
            pass  # the program is over, and its folder gone
        self._state = state

    def has_room(self, state: str) -> bool:
        """Whether a recording of this sort is still wanted."""
        there = (entry for entry in self._nest.entries() if entry.state == state and entry.path != self.path(state))
        return next(islice(there, MOST[state] - 1, None), None) is None

    def leave(self) -> None:
        """Take back what says how far the process is, for what was recorded says it."""
        if self._state:
            self.path(self._state).unlink(missing_ok=True)
        self._state = ""
