"""Collects the recordings of the processes that a program started, and gives each process a name."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...errors import RetrogradError
from ...inspect.lineup.lineup import of_a_job
from ...inspect.recording.events import Recording
from ...inspect.recording.loading import load_recording
from ..messages import say
from .child import record_forked
from .ledger import ChildLedger, Instructions


@dataclass(frozen=True, slots=True)
class Process:
    """One process and its recording."""

    recording: Recording
    mark: str
    """Suffix that distinguishes its files from others': ``rank0``, ``child3``."""
    name: str
    """Name in reports: ``rank 0``, ``process 3 (Process-3)``."""
    is_rank: bool = False
    """Whether it is one of several ranks of one job."""


class RootLedger(ChildLedger):
    """The ledger of the program itself, which knows in the end how many processes were not recorded."""

    def unrecorded(self) -> int:
        """Return how many processes have no recording."""
        return self.folder.unrecorded()


@dataclass
class Children:
    """The processes that a program started: a folder for their recordings, and the recordings when it is over."""

    processes: list[Process] = field(default_factory=list)
    """Filled by ``gather``."""
    ledger: RootLedger | None = None

    @contextmanager
    def recorded(self, label: str, plan: dict[str, Any]) -> Iterator[None]:
        """Make processes that start inside the block record themselves according to ``plan``."""
        folder, process = tempfile.mkdtemp(prefix="retrograd-children-"), os.getpid()
        instructions = Instructions(folder, label, plan)
        self.ledger = RootLedger(instructions, lambda ticket: record_forked(instructions, ticket))
        self.ledger.idle()
        try:
            yield
        finally:
            if os.getpid() == process:  # a child that was forked inside ends in its own time
                self.ledger.withdraw()
                shutil.rmtree(folder, ignore_errors=True)

    def gather(self) -> None:
        """Load all recordings; report those that cannot be read."""
        if self.ledger is None:
            return
        found = []
        for entry in self.ledger.folder.recorded():
            try:
                found.append(load_recording(str(entry.path)))
            except (RetrogradError, MemoryError) as error:
                say(f"the recording of process {entry.process} is lost: {error}")
        self.processes = named(found)
        if left := self.ledger.folder.left():
            say(f"{left} more processes were recorded, but only the first recordings are kept")


def named(recordings: list[Recording]) -> list[Process]:
    """Name each process: ranks of one job by their rank, others by the order in which they began."""
    numbers = [recording.rank for recording in recordings if of_a_job(recording)]
    ranks, others = [], []
    for number, recording in enumerate(recordings, 1):
        if of_a_job(recording) and numbers.count(recording.rank) == 1:
            ranks.append(Process(recording, f"rank{recording.rank}", f"rank {recording.rank}", is_rank=True))
        else:
            what = recording.process or recording.script
            others.append(Process(recording, f"child{number}", f"process {number} ({what})"))
    return [*sorted(ranks, key=lambda process: process.recording.rank or 0), *others]
