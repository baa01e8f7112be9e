"""Keys of ``Event.data`` by kind of event: the contract between the sources and everything that reads recordings.

Both sources (our engine's and PyTorch's) write these keys and readers rely on nothing else.  Every key may be
missing: at the lower levels of recording, or because an engine does not know it.  Tensors are indices into
``Recording.tensors``; nodes are sequence numbers counted from the beginning of the recording
(``Graph.first_seq + seq``), in PyTorch for each thread by itself.

=============  ===========================================================  =========
kind           what happened                                                level
=============  ===========================================================  =========
operation      a function of the engine was called                          full
inplace        one that wrote into a tensor                                 full
cut            one whose result left the graph, or never was in it          full
read           ``.grad`` of a tensor was read                               full
leaf           a leaf's ``requires_grad``, ``.grad`` or memory was changed  full
module         a module was called for the first time: its parameters       graph
optimizer      an optimizer was made, stepped, or cleared gradients         graph
stray          an attribute that switches nothing was set, as it turns out  full
               at some backward pass or in the end: ``net.requires_grad``
mode           a module was switched to training or evaluation              full
load           a state was loaded into a module                             full
scaling        a gradient scaler scaled a loss, unscaled gradients, stepped full
grad-mode      grad mode or inference mode was switched; ``Event.op`` is    full
               by what: ``no_grad``, ``set_grad_enabled``, ...
autocast       automatic casts to a narrower dtype began or ended;          full
               ``Event.op`` is the type of the device
transform      a call is the first within other transforms of               full
               ``torch.func`` than the call before
clip           gradients were clipped, if there were any                    backward
hook           a hook was registered, removed, or ran                       backward
function       a custom Function's forward or backward ran                  backward
checkpoint     a checkpointed block began, or was computed again            backward
backward       a backward pass began                                        graph
accumulate     a gradient arrived in a leaf's ``.grad``                     backward
backward-end   a backward pass ended                                        graph
collective     processes of a job did something together, or met            full
wrapper        a module was wrapped for several processes                   full
digests        ranks compared digests of their parameters; at the end       graph
prepared       modules were given to what trains or compiles them           full
missed         something that could not be recorded, reported at the        graph
               end; ``Event.op`` says what: ``values``, ``processes``, ...
lost           a queue dropped what it could not send to another process    graph
error          an exception ended the watched stretch                       graph
summary        what was recorded of steps in between, and is not kept       graph
=============  ===========================================================  =========
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from ..program.stacks import StackFrame
from .job_data import CollectiveData, DigestsData, ErrorData, MissedData, PreparedData
from .training_data import (
    AutocastData,
    ClipData,
    GradModeData,
    ModuleChangeData,
    OwnersData,
    ScalingData,
    StrayData,
    TransformData,
)

LEVELS = ("graph", "backward", "full")
"""Levels of recording: structure only; plus times and statistics of backward; plus every call of forward."""

TENSOR_KEYS = ("tensor", "target", "given", "gradient_of")
"""Keys of ``Event.data`` that hold a tensor, as an index into ``Recording.tensors``,"""
TENSORS_KEYS = (
    *("inputs", "outputs", "saves", "roots", "mutated", "without"),
    *("zero", "alike", "still", "gradients_of", "untrained", "left_alone"),
)
"""those that hold a list of them,"""
TENSOR_OF_NAME_KEYS = ("parameters", "unregistered", "operands")
"""those that hold tensors by name,"""
BY_TENSOR_KEYS = ("values", "entered", "kept_norms", "norms", "held_before", "held_after")
"""those that hold something by tensor, whose number is then text,"""
NAMES_KEYS = ("names", "output_names")
"""and those that hold a list of words."""
ROW_KEYS = ("first", "end", "switch")
"""Keys that hold an index into ``Recording.events``."""

MEASURES = (
    "time_us",  # time of the node, hooks excluded; in PyTorch those that only pass on what they get, and leaves
    # without a gradient so far, have none: it counts with the node before them
    "order",  # place in the order of execution, from 0
    "thread",  # small number of the thread that ran it
    "started_us",  # when it began, from the beginning of the run
    "saved_bytes",  # as the column, each storage counted once over the whole graph, for the node made first
    # of the gradient that arrived (with respect to the node's first output):
    "grad_norm",
    "grad_min",
    "grad_max",
    "grad_mean",
    "zero_share",
    "nan_count",
    "inf_count",
    # of what it passed on, all its results taken together:
    "out_norm",
    "out_zero_share",
    "out_nan_count",
    "out_inf_count",
    "out_tiny_share",  # share of non-zero entries below the smallest normal number of the dtype
)
"""Names of ``Graph.measures`` that a recording at level ``backward`` or ``full`` carries.

None: the node did not run, or the statistic was not taken (``figure_schedule``).
"""


class Values(TypedDict, total=False):
    """A summary of the values of one tensor; ``min``/``max`` are over finite entries."""

    size: int
    nan: int
    inf: int
    zero: int
    min: float
    max: float
    first_bad: list[int]
    """Index of the first NaN, else of the first infinity."""
    bad_rows: list[int]
    """Up to ten first indices (dimension 0) that hold a NaN or infinity."""
    pole: list[int]
    """Index of the first entry at which the operation's slope is infinite or undefined: 0 for ``sqrt``, ``log``, …"""


class OperationData(TypedDict, total=False):
    """Data of ``operation``, ``inplace`` and ``cut``; ``Event.op`` is ``operators.canonical`` of what was called."""

    written: str
    """The name that the program calls, if it differs: ``subtract_`` for ``sub``, ``half`` for ``to``."""
    inputs: list[int]
    """Tensors among the arguments, in order, lists flattened."""
    outputs: list[int]
    names: list[str]
    """How the user's line spells the inputs (``v``, ``h @ w``), ``""`` where unknown; same length as ``inputs``."""
    output_names: list[str]
    arguments: dict[str, object]
    """Plain arguments worth knowing: numbers, bools, strings, tuples of them, by position (``"1"``) or keyword."""
    grad: bool
    """Grad mode was on."""
    inference: bool
    switch: int
    """Index of the event that switched grad mode off or inference mode on, where recorded."""
    nodes: Annotated[list[int], 2]
    """``[first, end)`` of the sequence numbers of the nodes it made; missing when none."""
    saves: list[int]
    """Tensors (inputs or outputs) that its node keeps for backward."""
    scope: str
    run: int
    """Number of the backward pass inside which it happened (recomputation, hooks, double backward)."""
    values: dict[str, Values]
    """Summaries by tensor number as text; only of tensors that are non-finite, saturated or otherwise significant."""
    range: list[Annotated[list[float], 2] | None]
    """``[min, max]`` of each floating output (NaN if any is); None if not recorded (``figure_schedule``)."""
    checksum: list[float | None]
    """Sum of each floating output, by which two runs of one program are compared."""
    entered: dict[str, Annotated[list[float], 3]]
    """Minimum, maximum and sum of floating inputs that no recorded call made, at their first use, by tensor."""
    transformed: bool
    """It was called inside a transform of ``torch.func``: its tensors are wrappers, unknown outside."""
    flat_share: float
    """Share of entries where the function's slope is zero in its dtype (tanh, sigmoid, relu, softmax, ...)."""
    evaluating: bool
    """For dropout: the innermost module around the call was in evaluation mode."""
    duplicates: int
    """Number of repeated indices of an indexed write without accumulation, if any."""
    time_us: float
    error: str
    """``"Type: message"`` of the exception that the call raised."""
    # inplace:
    target: int
    version: list[int]
    """Version counter before and after."""
    gradient_of: int
    """The leaf whose ``.grad`` it wrote into."""
    through: str
    """How the memory was reached: ``data detach numpy dlpack storage view out``, or nothing."""
    part: list[list[int]]
    """Offset, sizes and strides, in entries of the memory, of what ``target[index] = value`` wrote."""
    overlap: bool
    """The target's entries share memory with each other (``expand``)."""
    # cut:
    reason: str
    """``detach data item tolist numpy copy no_grad inference integer nondifferentiable create_graph deepcopy``."""
    stack: list[StackFrame]
    """The user's frames, innermost first: at most four for a call, all for a cut or an in-place write."""


class BackwardData(TypedDict, total=False):
    """Data of ``backward`` and ``backward-end``."""

    run: int
    """Number of the backward pass, from 0 over the whole recording."""
    snapshot: int
    roots: list[int]
    root_shapes: list[list[int]]
    api: str
    """``"backward"`` or ``"grad"``."""
    inputs: list[int]
    retain_graph: bool
    create_graph: bool
    gradients_given: bool
    device: str
    """Device of the roots, if not the CPU: times of nodes are then those of kernel launches, not of computations."""
    nested: bool
    thread: int
    seconds: float
    began: float
    """Start time, on a monotonic clock; from level ``backward`` on."""
    nodes: int
    error: str
    error_type: str
    problem: str
    """Why there is no snapshot, although one was tried."""
    stack: list[StackFrame]
    failed_node: int
    """Node (sequence number) that was running when the pass raised."""
    kept_norms: dict[str, float]
    """For ranks: norm of ``.grad`` of each leaf that got a gradient, after all hooks of the pass, so after a reduction;
    by tensor number as text."""


class LeafData(TypedDict, total=False):
    """Data of ``accumulate``, ``leaf`` and ``read``."""

    tensor: int
    run: int
    before: str
    """State of ``.grad`` before: ``"none"``, ``"zero"`` or ``"kept"`` (nonzero values to which the new ones were
    added)."""
    version: int
    """Version counter of the leaf: if it differs at a later accumulation, the leaf was updated in between."""
    grad: Values
    grad_norm: float
    change: str
    """``"requires_grad"``, ``"grad-cleared"``, ``"grad-zeroed"``, ``"grad-set"``, ``"written"``."""
    value: bool
    given: int
    """The tensor assigned to a leaf's ``.grad``, or whose memory the leaf got by ``.data = ...``."""
    leaf: bool
    retains_grad: bool
    names: list[str]
    stack: list[StackFrame]


class HookData(TypedDict, total=False):
    """Data of ``hook``; ``Event.op`` is ``tensor``, ``node``, ``node-pre``, ``post-accumulate`` or ``module``."""

    action: str
    """``"registered"``, ``"removed"`` or ``"ran"``."""
    handle: int
    tensor: int
    node: int
    owner: int
    """Number of the module with the hook, from 0; ``type`` is its class."""
    type: str
    method: str
    """How it was registered: ``register_forward_hook``; ``returns`` is the line at which it returns something."""
    returns: int
    hook: str
    run: int
    in_place: bool
    """It changed the incoming gradient in place; ``zeroed``: it turned a nonzero gradient into zeros."""
    returned: bool
    zeroed: bool


class FunctionData(TypedDict, total=False):
    """Data of ``function``; ``Event.op`` is the class name, ``Event.source`` the user's line of ``apply``."""

    action: str
    """``"forward"`` or ``"backward"``, or ``"checked"``: compared with finite differences."""
    node: int
    run: int
    inputs: list[int]
    outputs: list[int]
    forward_line: list[object]
    """``[file, line, function]`` of the definition of ``forward``; ``backward_line`` of ``backward``."""
    forward_end: int
    """Its last line; ``backward_end`` that of ``backward``."""
    backward_line: list[object]
    backward_end: int
    return_line: int | None
    """Last line of ``backward`` that returns."""
    argument_count: int
    gradient_count: int
    shapes: list[object]
    """Shapes of the inputs (None if not a tensor); ``gradient_shapes`` those of what backward returned."""
    gradient_shapes: list[object]
    spread: bool
    """Entries of a gradient that backward received shared memory: ``sum`` passes one number to all."""
    parameters: list[str]
    """Names of ``forward``'s parameters after ``ctx``."""
    kept: dict[str, str]
    """Tensors stored as attributes of ctx -> ``"input"``, ``"output"`` or ``"intermediate"``."""
    kept_lines: dict[str, int]
    mutated: list[int]
    """Inputs that forward changed in place without ``mark_dirty``."""
    # checked; ``Event.source`` is the line that computes the gradient:
    order: int
    """1: first derivative, 2: second."""
    relative_error: float
    """0.0 if the two agree; the remaining keys are present only if they do not."""
    argument: int
    analytic: float
    """Derivative of the sum of the outputs (weighted by incoming gradients unless ``ones``) by one entry."""
    numeric: float
    index: list[int]
    factor: float
    """Analytic divided by numeric derivative, if the same in all directions."""
    ones: bool
    constant: bool
    """Backward returns something even for an incoming gradient of zeros; ``missing``: it returned None."""
    missing: bool
    exchanged: int  # the argument that has this one's derivative, and this one its
    reason: str
    """``"spread"``: backward is wrong for gradients whose entries share memory; ``"drawn"``: it draws new random
    numbers."""
    incoming: bool
    """For a second derivative: it is with respect to the incoming gradient."""


class CheckpointData(TypedDict, total=False):
    """Data of ``checkpoint``."""

    action: str
    """``"forward"``, ``"recompute"`` or ``"ended"``; ``"reentrant"`` when a reentrant checkpoint computes its block."""
    function: str
    block: int
    first: int
    """Index of the first event inside; ``end`` is one past the last."""
    end: int
    mixed: bool
    """Several threads were being watched: events in between may be of others."""
    keeps_random_state: bool
    """Whether the recomputation draws the same random numbers as the forward pass."""
    run: int


class SummaryData(TypedDict, total=False):
    """Data of ``summary``, which replaces the dropped steps of a long program (``kept_steps``)."""

    first_step: int
    """Number of the first dropped step, from 0 over the whole program."""
    steps: int
    runs: int
    """Number of their backward passes; ``seconds`` is their duration, ``kinds`` the number of events of each kind."""
    seconds: float
    kinds: dict[str, int]
    norms: dict[str, list[float]]
    """Leaf -> number of gradients that arrived there; least, greatest and mean of their norms."""
    continuous: bool
    """Steps like those before and after the gap were once seen in succession: nothing seems to be missing."""


REPEATED_KEYS = ("names", "output_names", "arguments", "stack")
"""Keys whose values are equal for all events of one line; such values may be shared objects, never modified."""

DATA_OF_KIND: dict[str, type] = {
    "operation": OperationData,
    "inplace": OperationData,
    "cut": OperationData,
    "read": LeafData,
    "leaf": LeafData,
    "accumulate": LeafData,
    "module": OwnersData,
    "optimizer": OwnersData,
    "stray": StrayData,
    "mode": ModuleChangeData,
    "load": ModuleChangeData,
    "scaling": ScalingData,
    "grad-mode": GradModeData,
    "autocast": AutocastData,
    "transform": TransformData,
    "clip": ClipData,
    "hook": HookData,
    "function": FunctionData,
    "checkpoint": CheckpointData,
    "backward": BackwardData,
    "backward-end": BackwardData,
    "collective": CollectiveData,
    "wrapper": CollectiveData,
    "digests": DigestsData,
    "prepared": PreparedData,
    "missed": MissedData,
    "lost": ErrorData,
    "error": ErrorData,
    "summary": SummaryData,
}
"""Kind of event -> type of its data."""
