"""``connect``: returns the communicator of the launcher that started this process."""

from __future__ import annotations

import os

from .communicator import Communicator
from .mpi_ import MpiCommunicator
from .single import SingleProcess
from .torch_ import TorchCommunicator

_MPI = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK")
_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR")


def connect() -> Communicator:
    """Return the communicator of the launcher: MPI under ``mpirun``, ``torch.distributed`` under ``torchrun``.

    Without a launcher it is one process alone. Raises ``MissingPackageError`` when the launcher's engine cannot
    be imported.
    """
    if all(name in os.environ for name in _TORCHRUN):
        return TorchCommunicator()
    if any(name in os.environ for name in _MPI):
        return MpiCommunicator()
    return SingleProcess()
