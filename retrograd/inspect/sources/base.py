"""``Source``: what an engine must offer to be inspected; ``Sink``: what receives the events of a watched program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, NamedTuple, Protocol

from ..graphs.graph import Cut, Graph
from ..program.places import SourceLine
from ..recording.events import Event
from ..recording.figure_schedule import FigureSchedule
from ..recording.journal import Maker, Note
from ..recording.tensor_table import TensorTable
from .kept_calls import Array, KeptCalls

Node = Any
"""A node of a live graph, of whichever engine: ``name()``, ``next_functions``, ``_sequence_nr()`` and so on."""


class Sink(Protocol):
    """Receives the events of a watched program, on the thread where they happen."""

    tensors: TensorTable
    """Numbers of the tensors that events mention."""
    kept_calls: KeptCalls | None
    """Where calls of Functions are kept for a comparison with finite differences; None if there is none."""
    note: Callable[[Note], None]
    """Takes the facts from which an event is made on first read; call ``mention`` with its line first."""
    maker: Callable[[Maker], int]
    """Returns the number by which notes may refer to a maker of events."""
    figures: FigureSchedule
    """The schedule of backward passes in which all statistics of gradients are computed."""

    eager: bool
    """Whether what the program compiles is to run uncompiled."""

    def __call__(self, event: Event, snapshot: Graph | None = None) -> int:
        """Take one event and return its index; a ``"backward"`` event comes with the snapshot taken before the pass."""

    def mention(self, line: SourceLine | None) -> None:
        """Keep the text of a user's line."""

    def files(self) -> list[str]:
        """Return the user's files with recorded lines."""

    def begin_run(self) -> int:
        """Return the number of a backward pass that begins; others may be running."""

    def stepped(self, optimizer: int) -> None:
        """Note that the optimizer with this number steps; its event or note was sent already."""

    def explain(self, error: BaseException, line: SourceLine | None = None) -> None:
        """Add the cause to an exception that the engine raises in this line of the user."""

    def missed(self, what: str, why: str) -> None:
        """Note that something cannot be recorded: what, in the words of ``unseen``, and why."""

    def among_ranks(self) -> bool:
        """Whether the program is one rank of several: then ``.grad`` after a pass is recorded, too."""

    def wants(self) -> bool:
        """Whether events of level ``full`` are still recorded; False when they take too much memory."""


class Watch(Protocol):
    """A running recording, for code that writes events of either engine."""

    sink: Sink
    level: str

    def number(self, tensor: Any, line: SourceLine | None = None, name: str = "") -> int:
        """Return the number of a tensor; a new one gets this line and name."""

    def numbers(self, tensors: Sequence[Any], line: SourceLine | None = None) -> list[int]:
        """Return the numbers of several tensors, most of which are known."""


class Gradient(NamedTuple):
    """The gradient of a tensor; ``value`` is an array, or None."""

    leaf: bool
    requires_grad: bool
    retains: bool
    value: Any
    hidden: bool = False
    """There is one whose entries cannot be read: ``value`` is None nonetheless."""


class Elsewhere:
    """A gradient on another device, for conditions: its statistics; ``numpy.asarray`` copies its entries."""

    def __init__(self, shape: tuple[int, ...], bad: tuple[int, int, int], zeros: int, copy: Callable[[], Any]) -> None:
        """``bad`` holds the numbers of NaN and infinities and the index of the first."""
        self.shape, self.size = shape, math.prod(shape)
        self.nan, self.inf, self.first_bad = bad
        self._zeros, self._copy = zeros, copy

    def any(self) -> bool:
        """Whether an entry is nonzero."""
        return self._zeros < self.size

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self._copy()
        return array if dtype is None else array.astype(dtype)


class Ran(NamedTuple):
    """A node that has just run: its name, the user's line that made it, incoming and outgoing gradients as arrays."""

    op: str
    source: SourceLine | None
    incoming: tuple[Any, ...]
    outgoing: tuple[Any, ...]


class Origins(Protocol):
    """Knows where the nodes of a watched program came from."""

    classes: dict[str, str]
    """Path of a module that has run -> its class."""

    def find(self, numbers: list[int | None]) -> tuple[list[SourceLine | None], list[str], list[str]]:
        """Return source line, scope and call for each sequence number; ``None`` and ``""`` where unknown."""

    @property
    def may_cut(self) -> bool:
        """Whether there may be such places as ``cuts`` returns."""

    def cuts(self, numbers: list[int | None]) -> list[Cut]:
        """Return where values flowed into the nodes with these numbers, without gradients."""

    def targets(self, number: int) -> tuple[str, ...]:
        """Return the names that the program assigns the results of a node's call to directly."""

    def pattern(self, first: int, last: int) -> Any:
        """Return a key that is equal for two ranges of numbers only if their n-th nodes have equal origins, or None."""


class Facts(Protocol):
    """What the walk needs to know about an engine's nodes; must not unpack saved tensors."""

    engine: str
    plain_tensors: frozenset[type]
    """Types of tensors whose shape and dtype may be read; a subclass may run the user's code."""

    def kind(self, node_type: type) -> str:
        """One of the kinds of ``Graph.kind``."""

    def saved_bytes(self, order: list[Node]) -> list[int | None]:
        """Return the bytes that each node saves for backward, if known."""


class Replay(Protocol):
    """An engine for the comparison with finite differences; its tensors are not the program's."""

    tensor_type: type

    def tensor(self, array: Array, *, requires_grad: bool = False) -> Any:
        """Return a new tensor with a copy of these values."""

    def array(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values."""

    def differentiable(self, tensor: Any) -> bool:
        """Whether a gradient can start here."""

    def gradients(self, root: Any, inputs: Sequence[Any], *, create_graph: bool = False) -> tuple[Any, ...]:
        """Return the gradients of a scalar with respect to the inputs, None for those that were not used."""

    def draw(self) -> None:
        """Draw some random numbers."""

    def same_random_numbers(self) -> AbstractContextManager[None]:
        """Restore the state of the engine's random generator after the block."""


class Source(Protocol):
    """The interface of one engine; a module of this folder offers its own as ``SOURCE``."""

    name: str

    def owns(self, obj: object) -> bool:
        """Whether an object is a tensor, node or gradient edge of this engine; never imports the engine."""

    def edges(self, obj: object) -> list[tuple[Node, int]]:
        """Return the (node, input number) pairs where backward from this object starts, or raise ``NoGraphError``."""

    def snapshot(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str = "walk",
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
    ) -> Graph:
        """Take a snapshot of the graph behind these objects, all of this engine.

        Names come from ``params``, from modules that are being watched, and with ``find_names`` from the
        variables of the user's frames, beginning with ``frame``.
        """

    def log_hooks(
        self, roots: list[Any], frame: FrameType, log: Callable[[str], None], *, verbose: bool
    ) -> AbstractContextManager[None]:
        """Attach logging hooks to every node behind these objects until the block ends; names come as in a snapshot."""

    def watch(self, sink: Sink, *, every_thread: bool = True, level: str = "graph") -> AbstractContextManager[None]:
        """Send the sink what happens on this engine, in all threads or in the current one, until the block ends.

        ``level`` is one of ``event_data.LEVELS``: how much is sent.
        """

    def steps(self, look: Callable[[Ran], None]) -> AbstractContextManager[None]:
        """Call ``look`` for each node that runs on this thread until the block ends; what it raises ends the pass."""

    def gradient(self, tensor: Any) -> Gradient:
        """Return a tensor's gradient, unnoticed by the program and by recordings."""

    def replay(self) -> Replay:
        """Return what runs Functions again; only called for an engine that the program has loaded."""
