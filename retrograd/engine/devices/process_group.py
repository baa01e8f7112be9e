"""A process group of one process, under the names of ``torch.distributed``: what a program does without a launcher.

Sums over one rank are what they were, so nothing is sent.  Several processes are connected by
``retrograd.distributed.connect``; a larger group is refused with that way out.
"""

from __future__ import annotations

import copy
import enum
import os
from collections.abc import Sequence
from typing import Any, NoReturn

_MISSING = (
    "Default process group has not been initialized, please make sure to call init_process_group. Several processes "
    "are connected by retrograd.distributed.connect()."
)


class ReduceOp(enum.Enum):
    """How values of several ranks become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = range(8)


class ProcessGroup:
    """The processes of a job: this one."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def rank(self) -> int:
        """The number of this process."""
        return 0

    def size(self) -> int:
        """How many there are."""
        return 1

    def name(self) -> str:
        """The backend that was asked for; nothing depends on it."""
        return self._backend


class Work:
    """What ``async_op=True`` returns: it has ended before it began."""

    def wait(self, timeout: Any = None) -> bool:
        """True."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True


class group:  # noqa: N801 - torch's name
    """``group.WORLD``: all processes, once there is a group."""

    WORLD: ProcessGroup | None = None


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Begin a group of one process; ``RuntimeError`` for more of them."""
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    from_environment = store is None and (init_method or "env://").startswith("env://")
    if from_environment:
        rank = _told("RANK", rank)
        world_size = _told("WORLD_SIZE", world_size)
    if world_size != 1 or rank != 0:
        raise RuntimeError(
            f"a process group of {world_size} processes: here a group has one, retrograd speaks no network protocol; "
            "connect several by retrograd.distributed.connect() under mpirun or torchrun, and train with "
            "retrograd.distributed.DataParallel"
        )
    group.WORLD = ProcessGroup(backend or "gloo")


def _told(name: str, given: int) -> int:
    """A number that the program gave, or else the launcher."""
    if given != -1:
        return given
    if name not in os.environ:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return int(os.environ[name])


def destroy_process_group(group_: Any = None) -> None:
    """End the group."""
    joined()
    group.WORLD = None


def joined() -> ProcessGroup:
    """The group; ``ValueError`` if there is none."""
    if group.WORLD is None:
        raise ValueError(_MISSING)
    return group.WORLD


def is_available() -> bool:
    """Whether there are process groups: yes, of one process."""
    return True


is_gloo_available = is_available


def is_nccl_available() -> bool:
    """Whether there is this library for GPUs: no."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_nccl_available


def is_initialized() -> bool:
    """Whether a group was begun."""
    return group.WORLD is not None


def get_rank(group: Any = None) -> int:
    """The number of this process: 0."""
    return joined().rank()


def get_world_size(group: Any = None) -> int:
    """How many processes there are: 1."""
    return joined().size()


def get_backend(group: Any = None) -> str:
    """The backend that was asked for."""
    return joined().name()


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers of all processes."""
    return list(range(joined().size()))


def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> ProcessGroup:
    """Some of the processes: the group again."""
    if any(rank != 0 for rank in ranks or ()):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    return joined()


def _unchanged(*args: Any, async_op: bool = False, **kwargs: Any) -> Work | None:
    """What one process alone has is the result."""
    joined()
    return Work() if async_op else None


all_reduce = broadcast = reduce = barrier = monitored_barrier = broadcast_object_list = _unchanged


def _only(listed: Any, name: str) -> Any:
    if not isinstance(listed, Sequence) or len(listed) != 1:
        raise ValueError(f"{name} needs one entry for each of the 1 processes")
    return listed[0]


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of all processes: a copy of the one."""
    _only(tensor_list, "all_gather").data.copy_(tensor)
    return _unchanged(async_op=async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same into one tensor."""
    output_tensor.data.copy_(input_tensor.reshape(output_tensor.shape))
    return _unchanged(async_op=async_op)


reduce_scatter_tensor = all_to_all_single = all_gather_into_tensor


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """The objects of all processes: a copy of the one."""
    joined()
    object_list[0] = copy.deepcopy(obj)


def gather(
    tensor: Any, gather_list: Any = None, dst: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes at one of them."""
    return all_gather(gather_list, tensor, group, async_op)


def gather_object(obj: Any, object_gather_list: Any = None, dst: int = 0, group: Any = None) -> None:
    """The objects of all processes at one of them."""
    all_gather_object(object_gather_list, obj, group)


def scatter(
    tensor: Any, scatter_list: Any = None, src: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """One process's tensors, one for each."""
    tensor.data.copy_(_only(scatter_list, "scatter"))
    return _unchanged(async_op=async_op)


def reduce_scatter(
    output: Any, input_list: Any, op: Any = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """The sum of all processes' lists, one entry for each."""
    return scatter(output, input_list, 0, group, async_op)


def all_to_all(output_list: Any, input_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Each process's list, one entry for each."""
    return all_gather(output_list, _only(input_list, "all_to_all"), group, async_op)


def send(tensor: Any, dst: int = 0, group: Any = None, tag: int = 0) -> None:
    """Refused: there is no other process."""
    joined()
    raise ValueError(
        "Invalid destination rank: destination rank should not be the same as the rank of the current process."
    )


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0) -> int:
    """Refused: there is no other process."""
    joined()
    raise RuntimeError("recv: there is no other process that could have sent anything")


def isend(tensor: Any, dst: int = 0, group: Any = None, tag: int = 0) -> NoReturn:
    """Refused: there is no other process."""
    joined()
    raise RuntimeError("isend: there is no other process that could receive anything")


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0) -> NoReturn:
    """Refused: there is no other process."""
    joined()
    raise RuntimeError("irecv: there is no other process that could have sent anything")


def scatter_object_list(
    scatter_object_output_list: Any, scatter_object_input_list: Any = None, src: int = 0, group: Any = None
) -> None:
    """One process's objects, one for each: a copy of the one."""
    all_gather_object(scatter_object_output_list, _only(scatter_object_input_list, "scatter_object_list"), group)


def get_group_rank(asked: Any, global_rank: int) -> int:
    """The number that a process has in a group: the one it has among all, of which there is one group."""
    if asked is not group.WORLD:
        raise ValueError(f"Group {asked} is not registered, please create group with torch.distributed.new_group API")
    return global_rank


def get_global_rank(asked: Any, group_rank: int) -> int:
    """The number that a process of a group has among all."""
    return get_group_rank(asked, group_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, as the launcher says it."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to "
            "work, assuming you are not running in a multi-device context and want the code to run locally instead."
        )
    return int(fallback_rank)


NAMES = (
    "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_to_all", "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group",
    "gather", "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "irecv", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend",
    "monitored_barrier", "new_group", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send",
)  # fmt: skip
"""What ``torch.distributed`` has of this."""
