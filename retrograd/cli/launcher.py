"""Reads rank and job size of this process from the environment of its launcher: torchrun, mpirun, srun."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLES = (
    ("RANK", "WORLD_SIZE"),  # torchrun and everything shaped like it
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),  # Open MPI
    ("PMI_RANK", "PMI_SIZE"),  # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # srun
)
"""Names of rank and world size, the most reliable first."""
RESTARTS = "TORCHELASTIC_RESTART_COUNT"
"""How often torchrun has restarted the job after a rank failed."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One process of a job."""

    rank: int
    world_size: int
    attempt: int = 0
    """How often the job was restarted before."""

    def own(self, path: str, suffixes: tuple[str, ...]) -> str:
        """Return this rank's own file for a path that all ranks were given: ``run.rank0.json``.

        ``suffixes`` are those of the format; a job of one process keeps the path.  What was written before a restart is
        kept: the second attempt writes ``run.attempt1.rank0.json``.
        """
        marks = [f"attempt{self.attempt}"] * (self.attempt > 0) + [f"rank{self.rank}"] * (self.world_size > 1)
        return beside(path, suffixes, ".".join(marks)) if marks else path


def beside(path: str, suffixes: tuple[str, ...], mark: str) -> str:
    """Insert a mark before a path's suffix: the longest of ``suffixes`` that it has, else any."""
    fitting = [suffix for suffix in suffixes if path.lower().endswith(suffix)]
    end = len(max(fitting, key=len)) if fitting else len(os.path.splitext(path)[1])
    stem, suffix = path[: len(path) - end], path[len(path) - end :]
    return f"{stem}.{mark}{suffix}"


def outside_a_job(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables of launchers."""
    ranks = {rank for rank, _ in _VARIABLES}
    return {name: value for name, value in environment.items() if name not in ranks}


def launched(environment: Mapping[str, str] | None = None) -> Launch | None:
    """Return this process's rank and job size, or None if no launcher started it."""
    environment = os.environ if environment is None else environment
    for rank, size in _VARIABLES:
        numbers = (environment.get(rank, ""), environment.get(size, ""))
        if all(number.isascii() and number.isdigit() for number in numbers):
            restarts = environment.get(RESTARTS, "")
            found = Launch(int(numbers[0]), int(numbers[1]), int(restarts) if restarts.isdecimal() else 0)
            if found.rank < found.world_size:
                return found
    return None
