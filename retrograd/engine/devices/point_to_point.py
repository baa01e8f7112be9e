"""Batches of sends and receives of ``torch.distributed``: described, checked and then started together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from .collectives import irecv, isend
from .process_group import joined


class P2POp:
    """One ``isend`` or ``irecv`` for ``batch_isend_irecv``; ``ValueError`` for another function."""

    __module__ = "retrograd.distributed.distributed_c10d"

    def __init__(
        self, op: Callable[..., Any], tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0,
        group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                "Invalid function argument. Expected parameter `tensor` of type torch.Tensor\n"
                f"             but got {type(tensor)} instead."
            )
        joined()
        if peer is None and group_peer is None:
            raise ValueError("Must specify global_rank or group_rank")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer = group_peer if peer is None else peer
        self.group_peer = self.peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Begin all of them; in a group of one process the first one says that there is nobody else."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if not p2p_op_list:
        raise IndexError("list index out of range: batch_isend_irecv needs at least one P2POp")
    return [one.op(one.tensor, one.peer, one.group, one.tag) for one in p2p_op_list]


NAMES = ("P2POp", "batch_isend_irecv")
"""What ``torch.distributed`` has of this."""
