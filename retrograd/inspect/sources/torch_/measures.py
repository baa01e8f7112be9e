"""Measures the nodes of one backward run through hooks that hold no node and are gone when the run is over.

Before a node runs its gradient is looked at and the clock read; its time ends where the next hook begins.  What a
node passes on is what arrives at the nodes behind it, unless several add up there: only then it is looked at itself.
A node that only gives its gradient another shape has no hook: its time counts with that of the node before it.
Hooks only take down; nearly everything else is worked out when the run is over.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from ...garbage import collector_paused
from ...snapshot import GraphSnapshot
from ..array_values import Array
from ..base import Node
from ..measure_columns import MeasureColumns
from ..passing import BY_SOURCE, BY_TARGET, Passing
from .calls import note_problem, version_of
from .figures import GradientFigures, Memory
from .values import Readable

MAX_NODES = 250_000
"""Larger graphs are run without measures: hooks on them would take minutes."""

_NOTHING = (0, 0, 0)
_Mark = tuple[int, int, int]
"""Address, version and number of entries of a gradient: the same memory, not written to in between."""


class Arrival(NamedTuple):
    """A gradient that is about to be added to that of a leaf."""

    row: int
    leaf: weakref.ref[Any]
    before: str


class Measures:
    """The measures of one run, by row of its snapshot."""

    def __init__(
        self,
        order: list[Node],
        shot: GraphSnapshot,
        known: Passing,
        memory: Memory,
        *,
        listening: bool,
        leaves_only: bool,
    ) -> None:
        self.columns: dict[str, list[Any]] = {}
        self.arrivals: list[Arrival] = []
        self._readable = Readable()
        self._reads = self._readable.now()
        self._unseen: Callable[[], AbstractContextManager[None]] | None = None
        if listening:  # a mode would see what is called here
            self._unseen = sys.modules["torch"]._C.DisableTorchFunction
        self._order: list[float | None] = [None] * len(shot)
        self._times: list[float | None] = [None] * len(shot)
        # In the snapshot from the beginning: a hang is explained from a file that is saved while nodes run.
        shot.measures.update(order=self._order, time_us=self._times)
        self._begins: list[tuple[int, int, int]] = []
        """Row, begin and end of the looking."""
        self.count = 0
        """How many nodes ran."""
        self._figures = GradientFigures(self._readable, memory)
        self._arrived: dict[int, int] = {}
        """Row -> number of the figures of what arrived there."""
        self._results: dict[int, int] = {}
        """Edge -> the same of what went over it, where that is looked at."""
        self._ends: dict[int, int] = {}
        self._passing = known
        self._source = known.source
        self._marks: dict[int, _Mark] = dict.fromkeys(known.source.values(), _NOTHING)
        """Row that may pass on what it gets -> what arrived there."""
        self._handles: list[Any] = []
        self._attach(order, shot, leaves_only)
        self._started = perf_counter_ns()

    def _attach(self, order: list[Node], shot: GraphSnapshot, leaves_only: bool) -> None:
        """Hook every node that is not quiet, or only those of leaves."""
        looked_at = self._passing.looked_at if self._reads else {}
        quiet, ready = self._passing.quiet, self._passing.quiet_before
        hold, kinds, before, after = self._handles.append, shot.kind, self._before(), self._after
        try:
            with collector_paused():
                for row, node in enumerate(order):
                    if kinds[row] == "leaf":
                        leaf = weakref.ref(node.variable)
                        rows = () if leaves_only else ready.get(row, ())
                        hold(node.register_prehook(partial(before, row, rows, leaf)))
                    elif not leaves_only and row not in quiet:
                        hold(node.register_prehook(partial(before, row, ready.get(row, ()), None)))
                        if row in looked_at:
                            hold(node.register_hook(partial(after, row, looked_at[row])))
        except BaseException:
            self.detach()
            raise

    def detach(self) -> None:
        """Take all hooks off, as the handles would, but without telling who listens to hooks being taken off."""
        while self._handles:
            handle = self._handles.pop()
            hooks = handle.hooks_dict_ref()
            if hooks is not None:
                hooks.pop(handle.id, None)

    # -- hooks
    def _before(self) -> Callable[[int, tuple[int, ...], Any, Any], None]:
        """Return the hook that runs before each node; it touches as little as possible, for all of that is cold."""
        reads, look, arrives, now = self._reads, self._look, self._arrives, perf_counter_ns
        begins, order, times = self._begins, self._order, self._times

        def before(row: int, ready: tuple[int, ...], leaf: weakref.ref[Any] | None, grads: Any) -> None:
            began = now()
            if reads and grads:
                look(row, grads[0])
                if leaf is not None:
                    arrives(row, leaf)
            if begins:
                last, _, ran = begins[-1]
                times[last] = (began - ran) / 1e3
            for passed in ready:
                order[passed] = self.count
                self.count += 1
            order[row] = self.count
            self.count += 1
            begins.append((row, began, now()))

        return before

    def _after(self, row: int, positions: list[tuple[int, int]], results: Any, grads: Any) -> None:
        self._ends[row] = perf_counter_ns()
        for position, edge in positions:
            result = results[position] if position < len(results) else None
            number = None if result is None else self._seen(self._figures.add, result)
            if number is not None:
                self._results[edge] = number

    def _look(self, row: int, gradient: Any) -> None:
        """Take down what arrived; as ``_seen``, without the calls in between."""
        if gradient is None:
            return
        try:
            if self._unseen is None:
                number = self._take(row, gradient)
            else:
                with self._unseen():
                    number = self._take(row, gradient)
            if number is not None:
                self._arrived[row] = number
        except Exception as problem:
            note_problem(problem)

    def _seen(self, take: Callable[..., Any], *args: Any) -> Any:
        """Look at something without being seen; what goes wrong is no business of the program."""
        try:
            if self._unseen is None:
                return take(*args)
            with self._unseen():
                return take(*args)
        except Exception as problem:
            note_problem(problem)
            return None

    def _take(self, row: int, gradient: Any) -> int | None:
        """Return the number of what arrived at the source of a gradient if it is that, else of the gradient."""
        marks, source = self._marks, self._source.get(row)
        if source is not None or row in marks:
            mark = (gradient.data_ptr(), version_of(gradient), gradient.numel())
            if row in marks:
                marks[row] = mark
            if source is not None and mark == marks[source] and source in self._arrived:
                return self._arrived[source]
        return self._figures.add(gradient)

    def _arrives(self, row: int, leaf: weakref.ref[Any]) -> None:
        """Note what the gradient of a leaf was before another one is added."""
        tensor = leaf()
        if tensor is not None:
            self.arrivals.append(Arrival(row, leaf, self._seen(self._held, tensor) or "none"))

    def _held(self, tensor: Any) -> str:
        """Say what a leaf's ``.grad`` was."""
        grad = tensor.grad
        if grad is None:
            return "none"
        array = self._readable.array(grad)
        return "zero" if array is not None and not array.any() else "kept"

    # -- the end
    @property
    def last(self) -> int | None:
        """Row of the node that began last."""
        return self._begins[-1][0] if self._begins else None

    def finish(self, shot: GraphSnapshot) -> None:
        """Work the measures out and put them into the snapshot."""
        finished = perf_counter_ns()
        saved = shot.measures.get("saved_bytes")
        made = MeasureColumns(len(shot))
        made.put_times(self._begins, self._ends, self._started, finished)
        made.columns["order"] = self._order
        table = self._figures.table()
        if len(table):
            arrived = self._numbers_by_row(len(shot))
            rows = np.flatnonzero(arrived >= 0)
            made.put_gradients(rows, table[arrived[rows]])
            passed, edges = self._passed_on(shot, arrived)
            made.put_results(np.array(shot.edge_source)[edges], table[passed], self._passing.around[edges])
        self.columns = made.columns
        shot.measures.update(self.columns)
        if saved is not None:
            shot.measures["saved_bytes"] = saved

    def _numbers_by_row(self, size: int) -> Array:
        """Return the number of the figures of what arrived in each row, -1 where nothing is known."""
        numbers = np.full(size, -1)
        numbers[list(self._arrived)] = list(self._arrived.values())
        quiet = self._passing.quiet
        numbers[list(quiet)] = numbers[list(quiet.values())]
        return numbers

    def _passed_on(self, shot: GraphSnapshot, arrived: Array) -> tuple[Array, Array]:
        """Return the numbers of the figures of what went over edges, and these edges."""
        ways = self._passing.ways
        numbers = np.full(len(ways), -1)
        for way, ends in ((BY_TARGET, shot.edge_target), (BY_SOURCE, shot.edge_source)):
            edges = np.flatnonzero(ways == way)
            numbers[edges] = arrived[np.array(ends, np.int64)[edges]]
        numbers[list(self._results)] = list(self._results.values())
        edges = np.flatnonzero(numbers >= 0)
        return numbers[edges], edges
