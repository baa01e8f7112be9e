"""A process group of one process under the names of ``torch.distributed``, for programs without a launcher.

``retrograd.distributed.connect`` connects several processes; a larger group is refused with a pointer to it.
"""

from __future__ import annotations

import enum
import os
from typing import Any

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


_groups = group  # for functions with an argument of that name


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Begin a group of one process; ``RuntimeError`` for more of them."""
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    from_environment = store is None and (init_method or "env://").startswith("env://")
    if from_environment:
        rank = _from_environment("RANK", rank)
        world_size = _from_environment("WORLD_SIZE", world_size)
    if world_size != 1 or rank != 0:
        raise RuntimeError(
            f"a process group of {world_size} processes: here a group has one, retrograd speaks no network protocol; "
            "connect several by retrograd.distributed.connect() under mpirun or torchrun, and train with "
            "retrograd.distributed.DataParallel"
        )
    group.WORLD = ProcessGroup(backend or "gloo")


def _from_environment(name: str, given: int) -> int:
    """A number that the program gave, or else the launcher."""
    if given != -1:
        return given
    if name not in os.environ:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return int(os.environ[name])


def destroy_process_group(group: Any = None) -> None:
    """End the group."""
    joined()
    _groups.WORLD = None


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


def new_group(
    ranks: Any = None, timeout: Any = None, backend: Any = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: Any = None, device_id: Any = None, sort_ranks: bool = True,
) -> ProcessGroup:  # fmt: skip
    """Some of the processes: the group again."""
    if any(rank != 0 for rank in ranks or ()):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    return joined()


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number that a process has in a group: the one it has among all, of which there is one group."""
    if group is not _groups.WORLD:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return global_rank


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number that a process of a group has among all."""
    return get_group_rank(group, group_rank)


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
    "ProcessGroup", "ReduceOp", "Work", "destroy_process_group", "get_backend", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "new_group",
)  # fmt: skip
"""What ``torch.distributed`` has of this."""
