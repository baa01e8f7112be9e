"""The collectives of ``torch.distributed`` in a group of one process: the result is the input, nothing is sent."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

from .process_group import ReduceOp, Work, joined


def _done(*, async_op: bool) -> Work | None:
    """The return value of a collective; ``ValueError`` if there is no group."""
    joined()
    return Work() if async_op else None


def _only(listed: Any, name: str) -> Any:
    if not isinstance(listed, Sequence) or len(listed) != 1:
        raise ValueError(f"{name} needs one entry for each of the 1 processes")
    return listed[0]


# -- in place: one process alone has the result already


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of all processes made one."""
    return _done(async_op=async_op)


def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """The tensors of all processes made one, at one of them."""
    return _done(async_op=async_op)


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """The tensor of one process at all of them."""
    return _done(async_op=async_op)


def broadcast_object_list(
    object_list: Any, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """The objects of one process at all of them."""
    joined()


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """All processes come to this line."""
    return _done(async_op=async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """The same; those that do not come are named."""
    joined()


# -- into other tensors: a copy


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of all processes."""
    _only(tensor_list, "all_gather").data.copy_(tensor)
    return _done(async_op=async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same into one tensor."""
    output_tensor.data.copy_(input_tensor.reshape(output_tensor.shape))
    return _done(async_op=async_op)


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """The objects of all processes."""
    joined()
    object_list[0] = copy.deepcopy(obj)


def gather(
    tensor: Any, gather_list: Any = None, dst: int | None = None, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """The tensors of all processes at one of them."""
    return all_gather(gather_list, tensor, group, async_op)


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """The objects of all processes at one of them."""
    all_gather_object(object_gather_list, obj, group)


def scatter(
    tensor: Any, scatter_list: Any = None, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """One process's tensors, one for each."""
    tensor.data.copy_(_only(scatter_list, "scatter"))
    return _done(async_op=async_op)


def scatter_object_list(
    scatter_object_output_list: Any, scatter_object_input_list: Any = None, src: int | None = None, group: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """One process's objects, one for each."""
    all_gather_object(scatter_object_output_list, _only(scatter_object_input_list, "scatter_object_list"), group)


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """All processes' lists made one, an entry for each."""
    return scatter(output, input_list, 0, group, async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False  # noqa: A002
) -> Work | None:  # fmt: skip
    """The same of one tensor, a part for each."""
    return all_gather_into_tensor(output, input, group, async_op)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Each process's list, an entry for each."""
    return all_gather(output_tensor_list, _only(input_tensor_list, "all_to_all"), group, async_op)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,  # noqa: A002
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """The same of one tensor, a part for each."""
    return all_gather_into_tensor(output, input, group, async_op)


# -- from one process to another: there is none


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Refused: there is no other process."""
    joined()
    raise ValueError(
        "Invalid destination rank: destination rank should not be the same as the rank of the current process."
    )


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Refused: there is no other process."""
    joined()
    raise RuntimeError("recv: there is no other process that could have sent anything")


def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> NoReturn:
    """Refused: there is no other process."""
    joined()
    raise RuntimeError("isend: there is no other process that could receive anything")


def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> NoReturn:
    """Refused: there is no other process."""
    joined()
    raise RuntimeError("irecv: there is no other process that could have sent anything")


NAMES = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier",
    "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
)  # fmt: skip
"""What ``torch.distributed`` has of this."""
