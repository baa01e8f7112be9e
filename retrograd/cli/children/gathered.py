"""Collects the recordings of the processes that a program started, and names each of them."""

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
from .ledger import ChildLedger, Told


@dataclass(frozen=True, slots=True)
class Process:
    """One process and its recording."""

    recording: Recording
    mark: str
    """Suffix that distinguishes its files from others': ``rank0``, ``child3``."""
    name: str
    """What it is called in a report: ``rank 0``, ``process 3 (Process-3)``."""
    is_rank: bool = False
    """Whether it is one of several ranks of one job."""


class RootLedger(ChildLedger):
    """The ledger of the program itself, which counts in the end."""

    def unrecorded(self) -> int:
        """Return of how many processes there is no recording."""
        return self.nest.unrecorded()


@dataclass
class Children:
    """The processes of one program: a place for their recordings, and these when it is over."""

    processes: list[Process] = field(default_factory=list)
    """Filled by ``gather``."""
    ledger: RootLedger | None = None

    @contextmanager
    def recorded(self, label: str, plan: dict[str, Any]) -> Iterator[None]:
        """Let the processes that start inside the block record themselves according to plan."""
        folder, process = tempfile.mkdtemp(prefix="retrograd-children-"), os.getpid()
        told = Told(folder, label, plan)
        self.ledger = RootLedger(told, lambda ticket: record_forked(told, ticket))
        self.ledger.idle()
        try:
            yield
        finally:
            if os.getpid() == process:  # a child that was forked inside ends in its own time
                self.ledger.withdraw()
                shutil.rmtree(folder, ignore_errors=True)

    def gather(self) -> None:
        """Load all recordings that exist; report those that cannot be read."""
        if self.ledger is None:
            return
        found = []
        for entry in self.ledger.nest.recorded():
            try:
                found.append(load_recording(str(entry.path)))
            except (RetrogradError, MemoryError) as error:
                say(f"the recording of process {entry.process} is lost: {error}")
        self.processes = named(found)
        if left := self.ledger.nest.left():
            say(f"{left} more processes were recorded and left out: those before them are enough")


def named(recordings: list[Recording]) -> list[Process]:
    """Return processes with their names: ranks of one job by these, others by the order in which they began."""
    numbers = [recording.rank for recording in recordings if of_a_job(recording)]
    ranks, others = [], []
    for number, recording in enumerate(recordings, 1):
        if of_a_job(recording) and numbers.count(recording.rank) == 1:
            ranks.append(Process(recording, f"rank{recording.rank}", f"rank {recording.rank}", is_rank=True))
        else:
            what = recording.process or recording.script
            others.append(Process(recording, f"child{number}", f"process {number} ({what})"))
    return [*sorted(ranks, key=lambda process: process.recording.rank or 0), *others]
