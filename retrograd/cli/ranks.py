"""Ranks of one job on one machine: each saves its recording in a shared folder, and the first reports on all."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from ..errors import RetrogradError
from ..inspect.recording.events import Recording
from ..inspect.recording.loading import load_recording
from ..inspect.render import RenderOptions
from ..inspect.render.formats.json_ import RENDERER
from ..inspect.writing import write_output
from .launcher import RESTARTS, Launch
from .messages import say
from .stacks import private_folder

_NAMES_OF_A_JOB = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "PMIX_NAMESPACE",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
)
"""Environment variables that are equal for all ranks of a job and differ between jobs."""
_LOOK = 0.05
AFTER_ALL = 60.0
"""Seconds that the first rank waits for running ranks when its own program ended well,"""
AFTER_FAILURE = 8.0
"""when it failed, so that the others may wait for it forever,"""
AFTER_SIGNAL = 2.0
"""and when a signal ends it, which the others received as well."""


class Ranks:
    """The shared folder of one attempt of a job."""

    def __init__(self, launch: Launch, environment: Mapping[str, str]) -> None:
        self._launch, self._limit = launch, 0.0
        here = int(environment.get("LOCAL_WORLD_SIZE", launch.world_size))
        first = launch.rank - int(environment.get("LOCAL_RANK", launch.rank))
        self._expected = range(first, first + here)
        names = [environment.get(name, "") for name in (*_NAMES_OF_A_JOB, RESTARTS)]
        key = hashlib.blake2b("\0".join([*names, str(first)]).encode(), digest_size=8).hexdigest()
        self.folder = private_folder(f"retrograd-job-{os.getuid()}-{key}")
        for left in (self._path(launch.rank), self._done(launch.rank)):
            left.unlink(missing_ok=True)  # by a job that was killed
        self._lives(launch.rank).write_text(str(os.getpid()))

    @classmethod
    def of(cls, launch: Launch | None, environment: Mapping[str, str]) -> Ranks | None:
        """Return the ranks of a job; None for a process that is not one of several, or whose job has no name."""
        named = any(environment.get(name) for name in _NAMES_OF_A_JOB)
        if launch is None or launch.world_size == 1 or not named or not hasattr(os, "getuid"):
            return None
        try:
            return cls(launch, environment)
        except (OSError, ValueError):
            return None

    @property
    def reports(self) -> bool:
        """Whether this process reports for all."""
        return self._launch.rank == self._expected[0]

    def _path(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.json"

    def _lives(self, rank: int) -> Path:
        """Return the file that holds the process id of a rank."""
        return self.folder / f"rank{rank}.process"

    def save(self, recorded: Recording) -> None:
        """Save the recording of this rank; a failure is printed."""
        try:
            write_output(RENDERER.pieces(recorded, RenderOptions()), str(self._path(self._launch.rank)))
        except (OSError, RetrogradError, MemoryError) as error:
            if self.folder.exists():  # else the first rank has reported already
                say(f"the recording of rank {self._launch.rank} is lost: {error}")

    def gather(self, own: Recording, seconds: float) -> list[Recording]:
        """Return the recordings of all ranks here, after waiting for those still running."""
        self._limit = time.monotonic() + seconds
        while time.monotonic() < self._limit and any(self._is_to_come(rank) for rank in self._expected):
            time.sleep(_LOOK)
        found = [own]
        for rank in self._expected:
            if rank != self._launch.rank and self._path(rank).exists():
                try:
                    found.append(load_recording(str(self._path(rank))))
                except (RetrogradError, MemoryError) as error:
                    say(f"the recording of rank {rank} is lost: {error}")
        return sorted(found, key=lambda one: one.rank or 0)

    def hurry(self) -> None:
        """Wait no longer than after a signal."""
        self._limit = min(self._limit, time.monotonic() + AFTER_SIGNAL)

    def _is_to_come(self, rank: int) -> bool:
        """Whether a running rank has not saved its last recording yet."""
        try:
            process = int(self._lives(rank).read_text())
            os.kill(process, 0)
        except PermissionError:
            return True
        except (OSError, ValueError):
            return not self._lives(rank).exists() and not self._path(rank).exists()  # it has not begun
        return rank != self._launch.rank and not self._done(rank).exists()

    def _done(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.done"

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def done(self) -> None:
        """Mark the recording that this rank saved as its last."""
        try:
            self._done(self._launch.rank).touch()
        except OSError:
            pass  # the first rank has reported already
