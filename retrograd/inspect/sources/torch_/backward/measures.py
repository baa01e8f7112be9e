"""Measures the nodes of one backward pass through hooks that hold no node and are removed when it ends.

Before a node runs, its gradient is copied and the clock is read; its time ends when the next hook begins. What a node
passes on is what arrives at the nodes behind it, unless several gradients add up there: only then it is read itself. A
node that passes its gradient on unchanged has no hook, nor has a leaf without a gradient so far: their times count for
the nodes before them. Hooks only store; everything else is computed when the pass is over, or on first read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

from ....graphs.graph import Graph
from ....references import Reference
from ...base import Node
from ...measure_columns import Taken, live_columns, measured_columns
from ..own_work import is_patched, own_work, unpatched
from ..private import private
from ..problems import note_problem
from ..values.figures import GradientFigures, Memory
from ..values.layout import Looking, Place, Way
from ..values.readbacks import READBACKS, ZEROS, Promise
from ..values.values import Readable
from .node_hooks import NodeHooks

MAX_NODES = 250_000
"""Larger graphs are run without measures: hooks on them would take minutes."""


class Arrival(NamedTuple):
    """A gradient that is about to be added to that of a leaf."""

    row: int
    leaf: Reference
    held: str | Promise
    """State of ``.grad`` before, or its number of zeros, if that is still to be read."""

    @property
    def before(self) -> str:
        """Return the state of ``.grad``: none, zero, kept; "" if it cannot be read."""
        if isinstance(self.held, str):
            return self.held
        zeros = self.held["zeros"]
        return "zero" if zeros == self.held.size else "kept" if zeros >= 0 else ""


class How(NamedTuple):
    """How one pass is measured."""

    listening: bool
    """Whether a mode, or a class of the program, observes our calls."""
    leaves_only: bool
    """Whether only leaves get hooks."""
    all_leaves: bool
    """Whether leaves whose gradient could be read later get hooks, too."""
    whole: bool
    """Whether all statistics of gradients are computed."""


class Measures:
    """The measures of one pass, by node of its snapshot."""

    def __init__(
        self,
        order: list[Node],
        leaves: dict[int, Any],
        snapshot: Graph,
        looking: Looking,
        memory: Memory,
        how: How,
    ) -> None:
        """``leaves``: their tensors, by row."""
        self.arrivals: list[Arrival] = []
        """In order of execution, once the pass is over."""
        self.count = 0
        """How many nodes ran."""
        self._readable = Readable()
        self._transformed = not self._readable.now() and self._readable.transformed()
        self._reads = self._transformed or self._readable.now()
        self._figures = GradientFigures(self._readable, looking.layout, memory, whole=how.whole)
        self._looking, self._passing, self._places = looking, looking.known, looking.layout.places
        self._ways: list[Way] = looking.ways if self._reads else [False] * len(snapshot)
        self._saved = snapshot.measures.get("saved_bytes")
        self._begins: list[int] = []
        """In turn: node, begin and end of our hook."""
        self._ends: dict[int, int] = {}
        self._met: dict[int, Arrival] = {}
        """Arrivals noted by hooks on leaves, by node."""
        self._later: dict[int, Reference] = {}
        """Leaves without a hook, by node: they run right after another node."""
        self._unseen: Callable[[], AbstractContextManager[None]] | None = None
        if how.listening or is_patched():
            self._unseen = own_work
        self._take = self._figures.taker()
        """Notes a gradient; ``_look`` does so where a mode of the program would see it."""
        if self._transformed:
            self._take = self._inside(self._take)
        self._look = self._looker()
        self._hooks = NodeHooks()
        late = not (how.leaves_only or how.all_leaves or self._transformed) and self._reads
        self._attach(order, leaves, late=late, leaves_only=how.leaves_only)
        self._started = perf_counter_ns()
        # In the snapshot from the beginning: a hang is explained from a file that is saved while nodes run.
        snapshot.measure_later(
            partial(live_columns, len(snapshot), self._begins, looking.known.before, self._saved), lasting=False
        )

    # -- hooks
    def _attach(self, order: list[Node], leaves: dict[int, Any], *, late: bool, leaves_only: bool) -> None:
        """Register a hook on every node that needs one; ``late``: leaves may be read when the pass is over."""
        hooks, ways, before = self._hooks, self._ways, self._before()
        try:
            hooks.before(self._leaf_hooks(order, leaves, self._passing.following if late else ()))
            if not leaves_only:
                hooks.before((order[row], partial(before, row, ways[row])) for row in self._looking.hooked)
                results = self._passing.looked_at if self._reads else {}
                hooks.after((order[row], partial(self._after, row, looked_at)) for row, looked_at in results.items())
        except BaseException:
            hooks.remove()
            raise

    def _leaf_hooks(
        self, order: list[Node], leaves: dict[int, Any], following: Container[int]
    ) -> Iterator[tuple[Node, Callable[[Any], None]]]:
        """Yield hooks of leaves; those ``following`` others, without a gradient so far, are read later."""
        ways, later, plain = self._ways, self._later, self._readable.plain
        for row, tensor in leaves.items():
            leaf = Reference(tensor)
            if (
                row in following
                and tensor.grad is None
                and type(tensor) in plain
                and not tensor._post_accumulate_grad_hooks
            ):
                later[row] = leaf
            else:
                yield order[row], partial(self._before_leaf, row, leaf, ways[row])

    def detach(self) -> None:
        """Remove all hooks."""
        self._hooks.remove()

    def _looker(self) -> Callable[[int, Place | None, Any], None]:
        """Return the function that notes a gradient."""
        take = self._take
        if self._unseen is None:
            return take
        needless, unobserved = unpatched(), private().unobserved

        def take_unseen(key: int, place: Place | None, gradient: Any) -> None:
            with unobserved() if needless() else own_work():
                take(key, place, gradient)

        return take_unseen

    def _inside(self, take: Callable[[int, Place | None, Any], None]) -> Callable[[int, Place | None, Any], None]:
        """Return the function that notes a gradient wrapped by transforms; not copied, since a batch may be longer."""
        readable = self._readable

        def take_inside(key: int, place: Place | None, gradient: Any) -> None:
            plain = readable.unwrapped(gradient)
            if plain is not None and plain.dtype in readable.wide:
                take(key, None, plain)

        return take_inside

    def _before(self) -> Callable[[int, Way, Any], None]:
        """Return the hook that runs before each node; it touches as little memory as possible, since none is cached."""
        look, note, now = self._look, self._begins.extend, perf_counter_ns

        def before(row: int, way: Way, gradients: Any) -> None:
            began = now()
            if way is not False and gradients and gradients[0] is not None:
                look(row, way, gradients[0])
            note((row, began, now()))

        return before

    def _before_leaf(self, row: int, leaf: Reference, way: Way, gradients: Any) -> None:
        """The hook that runs before a gradient is added to a leaf's."""
        began = perf_counter_ns()
        if gradients:
            if way is not False and gradients[0] is not None:
                self._look(row, way, gradients[0])
            self._arrives(row, leaf)
        self._begins.extend((row, began, perf_counter_ns()))

    def _after(self, row: int, positions: list[tuple[int, int]], results: Any, grads: Any) -> None:
        """The hook that runs after a node with results that must be measured."""
        self._ends[row] = perf_counter_ns()
        for position, edge in positions:
            result = results[position] if position < len(results) else None
            if result is not None:
                key = len(self._ways) + edge
                self._look(key, self._places.get(key), result)

    def _arrives(self, row: int, leaf: Reference) -> None:
        """Note the state of a leaf's gradient before another one is added."""
        tensor = leaf()
        if tensor is not None:
            try:
                with (self._unseen or nullcontext)():
                    self._met[row] = Arrival(row, leaf, self._held(tensor))
            except Exception as problem:
                note_problem(problem)

    def _held(self, tensor: Any) -> str | Promise:
        """Return the state of a leaf's ``.grad``."""
        grad = tensor.grad
        if grad is None:
            return "none"
        if not self._reads:
            return ""
        if self._readable.is_far(grad):
            return READBACKS.ask(grad, ZEROS) or ""
        array = self._readable.gradient(grad)
        return "" if array is None else "kept" if array.any() else "zero"

    # -- the end
    @property
    def last(self) -> int | None:
        """The node with a hook that began last."""
        return self._begins[-3] if self._begins else None

    def finish(self, snapshot: Graph) -> None:
        """Compute the statistics, and supply them as the measures of the graph; inside ``own_work``."""
        finished = perf_counter_ns()
        sequence = self._sequence()
        self.count = len(sequence)
        self._figures.end()
        taken = Taken(
            sequence=sequence,
            runs=self._begins,
            ends=self._ends,
            started=self._started,
            finished=finished,
            figures=self._figures,
            passing=self._passing,
            edge_source=snapshot.edge_source,
            edge_target=snapshot.edge_target,
            saved_bytes=self._saved,
        )
        snapshot.measure_later(partial(measured_columns, taken), lasting=True)

    def _sequence(self) -> list[int]:
        """Return the nodes that ran, in order, and read the leaves that waited."""
        before, followers, met, later = self._passing.before, self._looking.followers, self._met, self._later
        found: list[int] = []
        for row in self._begins[::3]:
            found += before.get(row, ())
            found.append(row)
            if row in met:
                self.arrivals.append(met[row])
            for leaf_row in followers.get(row, ()):
                leaf = later.get(leaf_row)
                if leaf is not None and self._look_late(leaf_row, leaf):
                    found += before.get(leaf_row, ())
                    found.append(leaf_row)
        return found

    def _look_late(self, row: int, reference: Reference) -> bool:
        """Read the gradient of a leaf without a hook; False if it got none."""
        leaf, way = reference(), self._ways[row]
        grad = None if leaf is None else leaf.grad
        if grad is None:
            return False
        if way is not False:
            self._take(row, way, grad)
        self.arrivals.append(Arrival(row, reference, "none"))
        return True

    def figures_of(self, arrivals: list[Arrival]) -> tuple[GradientFigures, list[int]]:
        """Return the source of statistics of the gradients that arrived in leaves, and their keys."""
        keys = self._looking.measured_by
        return self._figures, [keys[arrival.row] for arrival in arrivals]
