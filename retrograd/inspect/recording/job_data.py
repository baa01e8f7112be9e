"""The data of events about several processes: what they do together, and what was not recorded."""

from __future__ import annotations

from typing import TypedDict


class CollectiveData(TypedDict, total=False):
    """Data of ``collective`` (``Event.op``: ``all_reduce``, ``init_process_group``) and ``wrapper`` (its class)."""

    inputs: list[int]
    """Tensors among the arguments, sent or received; of a wrapper the parameters that it was given."""
    shapes: list[list[int]]
    dtypes: list[str]
    requires_grad: list[bool]
    gradients_of: list[int]
    """The leaves whose ``.grad``, or a view of it, the tensors are, where recorded."""
    grad: bool
    """Grad mode was on, outside a custom Function: the program may take autograd to follow."""
    run: int | None
    group: int
    """Number of the group, 0 of that of all processes; ``group_size`` is the number of its members."""
    group_size: int
    members: list[int]
    """Ranks of the group, in the first event that names it; omitted for the group of all."""
    rank: int
    pending: bool
    """The process was still in the call when the recording was saved: it waits for others."""
    sequence: int
    """Place among the collectives of its group that this process called, from 0."""
    root: int
    """The rank that sends to all, or gets what all send, where one does."""
    reduces: str
    """What is made of the values of all, if not their sum: PyTorch's name for it, ``AVG``."""
    asynchronous: bool
    stack: list[dict[str, object]]
    """The user's frames, innermost first, where there are several."""
    error: str
    # wrapper:
    type: str
    parameters: dict[str, int]
    untrained: list[int]
    """Parameters that did not require grad when the wrapper was made: it knows nothing of them later."""
    left_alone: list[int]
    """Parameters that it was configured to ignore."""
    sharded: bool
    """Each process keeps a part of each parameter."""
    dtensor: bool
    """The parts are tensors that know the others: what is computed of one is computed of the whole."""
    strategy: str
    """How: PyTorch's name for it."""
    find_unused_parameters: bool
    static_graph: bool


class DigestsData(TypedDict, total=False):
    """Data of ``digests``: what ranks found when they compared digests of their parameters after each step."""

    steps: int
    """Steps compared."""
    sorts: list[list[int]]
    """If they differ: for each different digest how many ranks have it, and the first of these; most ranks first."""
    others: int
    """Ranks with still other digests."""
    stopped: str
    """Why nothing was compared any more, if it ended early."""


class PreparedData(TypedDict, total=False):
    """Data of ``prepared``; ``Event.op`` is ``compile``, ``prepare``, ``fit`` or ``setup``."""

    type: str
    """``Accelerator``, ``Trainer``, ``Fabric``, or ``compile``."""
    names: list[str]
    """Classes of what was given; of a function that is compiled its name."""
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
    """What the expression that raised calls, or its syntax: ``"register_hook"``, ``"BinOp"``."""
    receiver: str
    targets: list[str]
    """What the line assigns the expression's value to."""
    operands: dict[str, int]
    """How the expression spells tensors -> these tensors."""
    raised_in: str
    """The library's module whose Python code raised."""
    through: list[str]
    """Modules of libraries that called the program's function that raised."""
    by_program: bool
    """The program's own ``raise`` or ``assert``."""
    worker: str
    """Where it was raised first, of one that was raised again here: ``in DataLoader worker process 0``."""
    again: list[int | str]
    """The line at which that was."""
    inputs: list[int]
    """Tensors in what was lost, or that the library's function was given, those in lists and dictionaries included."""
    stack: list[dict[str, object]]
    """Of a process that was stopped: the user's frames, innermost first."""
