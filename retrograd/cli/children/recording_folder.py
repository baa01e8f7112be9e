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
"""States of a process: running, with nothing to record so far; being recorded; recorded, with a backward pass or an
error; recorded, without these; recorded but dropped, since there were enough recordings."""
MOST = {TRAINED: 64, QUIET: 8}
"""How many recordings are kept: a program may start new workers again and again."""
_STARTED = "started"


class Entry(NamedTuple):
    """The file of one process, by the parts of its name."""

    since: int
    process: int
    ticket: str
    state: str
    path: Path


class RecordingFolder:
    """The folder that a program and the processes it starts share."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def start(self, ticket: str, process: int | None) -> None:
        """Note that a process was started, with its process id if that is known."""
        try:
            (self.folder / f"{process or 0}.{ticket}.{_STARTED}").touch()
        except OSError:  # the program is over, and its folder gone
            pass

    def enter(self, ticket: str) -> ProcessFile:
        """Register this process and return its file; ``sitecustomize`` does the same."""
        file = ProcessFile(self, f"{time.monotonic_ns():020}.{os.getpid()}.{ticket}")
        file.become(SEEN)
        return file

    def entries(self) -> list[Entry]:
        """Return the files of all processes that registered, in the order in which they started."""
        found = []
        for path in self.folder.iterdir():
            parts = path.name.split(".")
            if len(parts) == 4 and parts[0].isdigit() and parts[1].isdigit():
                found.append(Entry(int(parts[0]), int(parts[1]), parts[2], parts[3], path))
        return sorted(found)

    def recorded(self) -> list[Entry]:
        """Return the files that hold a recording."""
        return [entry for entry in self.entries() if entry.state in MOST]

    def left(self) -> int:
        """Return how many recordings were dropped."""
        return sum(entry.state == LEFT for entry in self.entries())

    def unrecorded(self) -> int:
        """Return how many processes have no recording although there may have been something to record."""
        entries = self.entries()
        lost = {entry.process for entry in entries if entry.state == BEGUN}
        lost -= {entry.process for entry in entries if entry.state in MOST}  # it was saved while it ran
        return len(lost) + sum(1 for _ in self._never_here(entries))

    def _never_here(self, entries: Sequence[Entry]) -> Iterator[str]:
        """Yield the tickets of started processes that never registered, nor did any process they started."""
        processes, tickets = {entry.process for entry in entries}, {entry.ticket for entry in entries}
        for path in self.folder.glob(f"*.{_STARTED}"):
            process, ticket, _ = path.name.split(".")
            if int(process) not in processes and ticket not in tickets:
                yield ticket


class ProcessFile:
    """The file of one process, whose name ends in the process's state."""

    def __init__(self, folder: RecordingFolder, name: str, state: str = "") -> None:
        self._folder, self._name, self._state = folder, name, state

    def path(self, state: str) -> Path:
        """Return the path of the file in a given state."""
        return self._folder.folder / f"{self._name}.{state}"

    def become(self, state: str) -> None:
        """Rename the file to a new state."""
        try:
            if self._state:
                os.replace(self.path(self._state), self.path(state))
            else:
                self.path(state).touch()
        except OSError:
            pass  # the program is over, and its folder gone
        self._state = state

    def has_room(self, state: str) -> bool:
        """Whether another recording with this state may be kept."""
        there = (entry for entry in self._folder.entries() if entry.state == state and entry.path != self.path(state))
        return next(islice(there, MOST[state] - 1, None), None) is None

    def leave(self) -> None:
        """Remove the file; the recording beside it has taken its file."""
        if self._state:
            self.path(self._state).unlink(missing_ok=True)
        self._state = ""
