"""Data-parallel training on several processes, over an engine that is already there: MPI or ``torch.distributed``.

::

    import retrograd as rg

    ranks = rg.distributed.connect()                  # from the launcher: mpirun, torchrun, or neither
    parallel = rg.distributed.DataParallel({"w": w, "b": b}, ranks)
    loss = model(rows[ranks.rank :: ranks.world_size])
    loss.backward()                                   # w.grad and b.grad are now the mean over all ranks

Nothing here speaks a network protocol of its own; a ``Communicator`` is all that ``DataParallel`` needs.  The names of
``torch.distributed`` (``init_process_group``, ``all_reduce``, ...) are there for a program that is one process.
"""

from __future__ import annotations

from typing import Any

from .._absent import missing_attribute
from ..engine.devices import collectives, point_to_point, process_group
from .communicator import Communicator, Pending
from .connect import connect
from .data_parallel import DataParallel
from .mpi_ import MpiCommunicator
from .single import SingleProcess
from .torch_ import TorchCommunicator

_OFFERING = (collectives, point_to_point, process_group)
globals().update({name: getattr(module, name) for module in _OFFERING for name in module.NAMES})

__all__ = [  # noqa: PLE0604
    *collectives.NAMES, *point_to_point.NAMES, *process_group.NAMES, "Communicator", "DataParallel",
    "MpiCommunicator", "Pending", "SingleProcess", "TorchCommunicator", "connect",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise missing_attribute(__name__, name)
