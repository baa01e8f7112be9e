"""Measures the nodes of one backward run through hooks that hold no node and are gone when the run is over.

Before a node runs its gradient is looked at and the clock read; its time ends where the next hook begins.  What a
node passes on is what arrives at the nodes behind it, unless several add up there: only then it is looked at itself.
Hooks only take down; nearly everything else is worked out when the run is over.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

from ...garbage import collector_paused
from ...snapshot import GraphSnapshot
from ..base import Node
from ..measure_columns import MeasureColumns
from ..passing import BY_SOURCE, BY_TARGET, passing
from .calls import note_problem, version_of
from .figures import GradientFigures
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

    def __init__(self, order: list[Node], shot: GraphSnapshot, *, listening: bool, leaves_only: bool = False) -> None:
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
        self._figures = GradientFigures(self._readable)
        self._arrived: dict[int, int] = {}
        """Row -> number of the figures of what arrived there."""
        self._results: dict[tuple[int, int], int] = {}
        """Row and position of a result -> the same of it, where it is looked at."""
        self._ends: dict[int, int] = {}
        self._passing = passing(order, shot)
        self._source = self._passing.source
        self._marks: dict[int, _Mark] = dict.fromkeys(self._source.values(), _NOTHING)
        """Row that may pass on what it gets -> what arrived there."""
        self._handles: list[Any] = []
        self._attach(order, shot, leaves_only)
        self._started = perf_counter_ns()

    def _attach(self, order: list[Node], shot: GraphSnapshot, leaves_only: bool) -> None:
        """Hook every node, or only those of leaves."""
        looked_at = self._passing.looked_at if self._reads else {}
        hold, kinds, before, after = self._handles.append, shot.kind, self._before(), self._after
        try:
            with collector_paused():
                for row, node in enumerate(order):
                    if leaves_only and kinds[row] != "leaf":
                        continue
                    leaf = weakref.ref(node.variable) if kinds[row] == "leaf" else None
                    hold(node.register_prehook(partial(before, row, leaf)))
                    if row in looked_at:
                        hold(node.register_hook(partial(after, row, looked_at[row])))
        except BaseException:
            self.detach()
            raise

    def detach(self) -> None:
        """Take all hooks off."""
        while self._handles:
            self._handles.pop().remove()

    # -- hooks
    def _before(self) -> Callable[[int, Any, Any], None]:
        """Return the hook that runs before each node; it touches as little as possible, for all of that is cold."""
        reads, look, arrives, now = self._reads, self._look, self._arrives, perf_counter_ns
        begins, order, times = self._begins, self._order, self._times

        def before(row: int, leaf: weakref.ref[Any] | None, grads: Any) -> None:
            began = now()
            if reads and grads:
                look(row, grads[0])
                if leaf is not None:
                    arrives(row, leaf)
            if begins:
                last, _, ran = begins[-1]
                times[last] = (began - ran) / 1e3
            order[row] = len(begins)
            begins.append((row, began, now()))

        return before

    def _after(self, row: int, positions: list[int], results: Any, grads: Any) -> None:
        self._ends[row] = perf_counter_ns()
        for position in positions:
            result = results[position] if position < len(results) else None
            number = None if result is None else self._seen(self._figures.add, result)
            if number is not None:
                self._results[row, position] = number

    def _look(self, row: int, gradient: Any) -> None:
        """Take down what arrived."""
        number = None if gradient is None else self._seen(self._take, row, gradient)
        if number is not None:
            self._arrived[row] = number

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
    def count(self) -> int:
        """How many nodes ran."""
        return len(self._begins)

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
        table = self._figures.table()
        if len(table):
            made.put_gradients(self._arrived, table)
            made.put_results(self._passed_on(shot), table)
        self.columns = made.columns
        shot.measures.update(self.columns)
        if saved is not None:
            shot.measures["saved_bytes"] = saved

    def _passed_on(self, shot: GraphSnapshot) -> list[tuple[int, int, int]]:
        """Return what went over the edges: row of the source, number of its figures, and zeros around it."""
        found = []
        arrived, results = self._arrived, self._results
        for way, (start, end, position, _) in zip(self._passing.ways, shot.edges(), strict=True):
            around = 0
            if way == BY_TARGET:
                number = arrived.get(end)
            elif way == BY_SOURCE:
                number = arrived.get(start)
                around = math.prod(shot.shape[end] or ()) - math.prod(shot.shape[start] or ())
            else:
                number = results.get((start, position))
            if number is not None:
                found.append((start, number, around))
        return found
