"""The data of events about several processes: their collectives, and what was not recorded."""

from __future__ import annotations

from typing import TypedDict


class CollectiveData(TypedDict, total=False):
    """Data of ``collective`` (``Event.op``: ``all_reduce``, ``init_process_group``) and ``wrapper`` (its class)."""

    inputs: list[int]
    """Tensors among the arguments, sent or received; for a wrapper the parameters passed to it."""
    shapes: list[list[int]]
    dtypes: list[str]
    requires_grad: list[bool]
    gradients_of: list[int]
    """The leaves whose ``.grad``, or a view of it, the tensors are, if recorded."""
    grad: bool
    """Grad mode was on, outside a custom Function: the author may expect a gradient."""
    run: int | None
    group: int
    """Number of the group, 0 for all processes; ``group_size`` is the number of its members."""
    group_size: int
    members: list[int]
    """Ranks of the group, in the first event of it; omitted for the group of all."""
    rank: int
    pending: bool
    """The process was still in the call when the recording was saved: it waits for others."""
    sequence: int
    """Number among the collectives of its group that this process called, from 0."""
    root: int
    """The rank that sends to all, or receives from all, if there is one."""
    reduces: str
    """The reduction, if not a sum, by PyTorch's name: ``AVG``."""
    asynchronous: bool
    stack: list[dict[str, object]]
    """The user's frames, innermost first, if there are several."""
    error: str
    # wrapper:
    type: str
    parameters: dict[str, int]
    untrained: list[int]
    """Parameters that did not require grad when the wrapper was made: it ignores them from then on."""
    left_alone: list[int]
    """Parameters that it was configured to ignore."""
    sharded: bool
    """Each process keeps a shard of each parameter."""
    dtensor: bool
    """The shards are DTensors: computations with one are computations with the whole."""
    strategy: str
    """PyTorch's name for how parameters are sharded."""
    find_unused_parameters: bool
    static_graph: bool


class DigestsData(TypedDict, total=False):
    """Data of ``digests``: the result of comparing digests of parameters across ranks after each step."""

    steps: int
    """Steps compared."""
    sorts: list[list[int]]
    """If they differ: for each digest how many ranks have it, and the first of these; most ranks first."""
    others: int
    """Ranks with further digests."""
    stopped: str
    """Why the comparison ended early, if it did."""


class PreparedData(TypedDict, total=False):
    """Data of ``prepared``; ``Event.op`` is ``compile``, ``prepare``, ``fit`` or ``setup``."""

    type: str
    """``Accelerator``, ``Trainer``, ``Fabric``, or ``compile``."""
    names: list[str]
    """Classes of the arguments, or the name of a compiled function."""
    arguments: dict[str, object]
    """Plain settings: precision, clipping, accumulation, backend."""
    parameters: dict[str, int]
    inputs: list[int]


class MissedData(TypedDict, total=False):
    """Data of ``missed``."""

    why: str
    count: int


class ErrorData(TypedDict, total=False):
    """Data of ``error`` and ``lost``; ``Event.source`` is the innermost line of the user, a worker's if it raised."""

    type: str
    message: str
    call: str
    """The function whose call raised, or the syntax: ``"register_hook"``, ``"BinOp"``."""
    receiver: str
    targets: list[str]
    """The names that the line assigns the expression's value to."""
    operands: dict[str, int]
    """Text of a tensor in the expression -> the tensor."""
    raised_in: str
    """The library's module whose Python code raised."""
    through: list[str]
    """Modules of libraries through which the program called its own function that raised."""
    by_program: bool
    """The program's own ``raise`` or ``assert``."""
    worker: str
    """Where it was first raised, if it was raised again here: ``in DataLoader worker process 0``."""
    again: list[int | str]
    """The line that raised it again."""
    inputs: list[int]
    """Tensors in the lost object, or among the arguments of the library's function, including those in lists and
    dictionaries."""
    stack: list[dict[str, object]]
    """For a process that was stopped: the user's frames, innermost first."""
