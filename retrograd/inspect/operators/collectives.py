"""Traits of collectives, in any spelling: ``_all_gather_base`` is ``all_gather_single``.

Some have the names of operators (``gather``, ``scatter``), so they have a separate table.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from . import traits_of


class Shares(StrEnum):
    """A property of a collective for all tensors."""

    SUM = "sum"
    """Values of all members are reduced to one: added up, or their maximum taken."""
    SAME = "same"
    """Afterwards all members have equal values in the tensors that they passed."""
    PARTS = "parts"
    """Members receive different values: each a part of the whole."""
    BESIDE = "beside"
    """Received values are in other tensors than sent ones, and have no history."""
    ONE_SIZE = "one size"
    """Tensors have equal size and dtype on all members."""
    PAIR = "pair"
    """Concerns two processes of the group only."""
    OBJECTS = "objects"
    """Sends pickled objects and no tensors."""


_SPELLINGS = """
all_gather allgather
all_gather_single all_gather_into_tensor all_gather_base all_gather_tensor
all_gather_coalesced all_gather_into_tensor_coalesced
all_reduce allreduce
all_reduce_coalesced allreduce_coalesced
all_to_all alltoall
all_to_all_single alltoall_base
reduce_scatter_single reduce_scatter_tensor reduce_scatter_base
send isend
recv irecv
"""
"""A line for each collective with several names, the canonical one first."""
_TRAITS = {
    Shares.SUM: "all_reduce all_reduce_coalesced reduce reduce_scatter reduce_scatter_single",
    Shares.SAME: "all_reduce all_reduce_coalesced broadcast",
    Shares.PARTS: "all_to_all all_to_all_single reduce_scatter reduce_scatter_single scatter scatter_object_list",
    Shares.BESIDE: """
        all_gather all_gather_coalesced all_gather_single all_to_all all_to_all_single gather reduce_scatter
        reduce_scatter_single scatter""",
    Shares.ONE_SIZE: "all_gather_single all_reduce broadcast reduce reduce_scatter_single",
    Shares.PAIR: "batch_isend_irecv recv send",
    Shares.OBJECTS: "all_gather_object broadcast_object_list gather_object scatter_object_list",
}
_DERIVABLE = "all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter"
"""Collectives that are also functions of ``torch.distributed.nn.functional``."""
_OWN = {name: line.split()[0] for line in _SPELLINGS.strip().split("\n") for name in line.split()}


@lru_cache(maxsize=1000)
def collective(name: str) -> str:
    """Return the canonical name of a collective: PyTorch's newest, without underscores around it."""
    plain = name.strip("_")
    return _OWN.get(plain, plain)


@lru_cache(maxsize=1000)
def shares(name: str) -> frozenset[Shares]:
    """Return the traits of a collective in any spelling; none for other functions."""
    own = collective(name)
    return frozenset(trait for trait, names in _TRAITS.items() if own in names.split())


def is_collective(name: str) -> bool:
    """Whether a name is a collective's, and not also an operator's."""
    return bool(shares(name)) and not traits_of(name)


def derivable(name: str) -> str:
    """Return the differentiable ``torch.distributed.nn.functional`` counterpart of a collective, or ""."""
    own = collective(name)
    return next((one for one in (own, own.removesuffix("_single")) if one in _DERIVABLE.split()), "")
