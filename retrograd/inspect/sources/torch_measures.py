"""Measures the nodes of one backward run through hooks that hold no node and are gone when the run is over.

Before a node runs its gradient is looked at and the clock read; its time ends where the next hook begins.  What a
node passes on is what arrives at the nodes behind it, unless several add up there: only then it is looked at itself.
Hooks only take down; nearly everything else is worked out when the run is over.
"""

from __future__ import annotations

import sys
import weakref
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from ..event_data import MEASURES
from ..snapshot import GraphSnapshot
from .array_values import Array
from .base import Node
from .torch_calls import note_problem
from .torch_figures import GradientFigures
from .torch_values import Readable

MAX_NODES = 250_000
"""Larger graphs are run without measures: hooks on them would take minutes."""
_GRADIENT = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")

_RESHAPING = frozenset(
    f"{name}Backward{number}"
    for name in ("T", "View", "UnsafeView", "Transpose", "Permute", "Unsqueeze", "Squeeze", "ReshapeAlias", "Alias")
    for number in range(3)
)
"""Nodes that pass on the entries they get, in another shape."""


class Arrival:
    """A gradient that is about to be added to that of a leaf."""

    __slots__ = ("before", "leaf", "row")

    def __init__(self, row: int, leaf: weakref.ref[Any], before: str) -> None:
        self.row = row
        self.leaf = leaf
        self.before = before


class Measures:
    """The measures of one run, by row of its snapshot."""

    def __init__(self, order: list[Node], shot: GraphSnapshot, *, listening: bool) -> None:
        torch: Any = sys.modules["torch"]
        self.columns: dict[str, list[float | None]] = {}
        self.arrivals: list[Arrival] = []
        self._readable = Readable()
        self._reads = self._readable.now()
        self._unseen = torch._C.DisableTorchFunction
        self._listening = listening
        """Whether a mode would see what is called here."""
        self._order: list[float | None] = [None] * len(shot)
        self._times: list[float | None] = [None] * len(shot)
        # In the snapshot from the beginning: a hang is explained from a file that is saved while nodes run.
        shot.measures.update(order=self._order, time_us=self._times)
        self._begins: list[tuple[int, int, int]] = []
        """Row, begin and end of the looking."""
        self._figures = GradientFigures(self._readable)
        self._arrived: dict[int, int] = {}
        """Row -> number of the figures of what arrived there."""
        self._results: dict[int, list[int]] = {}
        self._ends: dict[int, int] = {}
        self._same = _passing_on(shot)
        """Rows at which the same entries arrive as at another row, because that node only reshapes."""
        self._handles: list[Any] = []
        self._attach(order, shot)
        self._started = perf_counter_ns()

    def _attach(self, order: list[Node], shot: GraphSnapshot) -> None:
        """Hook every node."""
        looked_after = _merging(shot) if self._reads else set()
        handles, kinds, before, after = self._handles, shot.kind, self._before, self._after
        try:
            for row, node in enumerate(order):
                leaf = weakref.ref(node.variable) if kinds[row] == "leaf" else None
                handles.append(node.register_prehook(partial(before, row, leaf)))
                if row in looked_after:
                    handles.append(node.register_hook(partial(after, row)))
        except BaseException:
            self.detach()
            raise

    def detach(self) -> None:
        """Take all hooks off."""
        while self._handles:
            self._handles.pop().remove()

    # -- hooks
    def _before(self, row: int, leaf: weakref.ref[Any] | None, grads: Any) -> None:
        began = perf_counter_ns()
        if self._reads and grads:
            found = None if row in self._same else self._look(grads[0])
            if found is not None:
                self._arrived[row] = found
            if leaf is not None:
                self._arrives(row, leaf)
        begins = self._begins
        if begins:
            last, _, ran = begins[-1]
            self._times[last] = (began - ran) / 1e3
        self._order[row] = len(begins)
        begins.append((row, began, perf_counter_ns()))

    def _after(self, row: int, results: Any, grads: Any) -> None:
        self._ends[row] = perf_counter_ns()
        found = [self._look(result) for result in results]
        self._results[row] = [number for number in found if number is not None]

    def _look(self, gradient: Any) -> int | None:
        """Take a gradient down and return its number among the figures."""
        if gradient is None:
            return None
        try:
            if self._listening:
                with self._unseen():
                    return self._figures.add(gradient)
            return self._figures.add(gradient)
        except Exception as problem:
            note_problem(problem)
            return None

    def _arrives(self, row: int, leaf: weakref.ref[Any]) -> None:
        """Note what the gradient of a leaf was before another one is added."""
        with self._unseen():
            tensor = leaf()
            if tensor is not None:
                self.arrivals.append(Arrival(row, leaf, self._held(tensor.grad)))

    def _held(self, grad: Any) -> str:
        """Say what a leaf's ``.grad`` was."""
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
        self.columns = {name: [None] * len(shot) for name in MEASURES}
        self._put_times(finished)
        for place, parent in sorted(self._same.items()):  # parents stand before what only they lead to
            if parent in self._arrived:
                self._arrived.setdefault(place, self._arrived[parent])
        if len(self._figures):
            table = self._figures.table()
            self._put_figures(table)
            self._put_results(shot, table)
        shot.measures.update(self.columns)
        if saved is not None:
            shot.measures["saved_bytes"] = saved

    def _put_times(self, finished: int) -> None:
        """A node's time ends with its own hook after it, else with the next node's before it."""
        times, starts = self.columns["time_us"], self.columns["started_us"]
        orders, threads = self.columns["order"], self.columns["thread"]
        following = [*[began for _, began, _ in self._begins], finished][1:]
        for place, ((row, _, ran), end) in enumerate(zip(self._begins, following, strict=True)):
            orders[row], threads[row] = place, 0
            times[row] = (min(self._ends.get(row, end), end) - ran) / 1e3
            starts[row] = (ran - self._started) / 1e3

    def _put_figures(self, table: Array) -> None:
        """Write what arrived at the nodes."""
        rows = list(self._arrived)
        squares, low, high, total, zeros, nan, inf, size, _ = table[list(self._arrived.values())].T
        figures = (np.sqrt(squares), low, high, total / size, zeros / size, nan, inf)
        for name, values in zip(_GRADIENT, figures, strict=True):
            self._write(name, rows, values)

    def _put_results(self, shot: GraphSnapshot, figures: Array) -> None:
        """Add up what each node passed on."""
        sources = [row for row, passed in self._results.items() for _ in passed]
        passed = [one for results in self._results.values() for one in results]
        for source, target in zip(shot.edge_source, shot.edge_target, strict=True):
            if source not in self._results and target in self._arrived:
                sources.append(source)
                passed.append(self._arrived[target])
        if not passed:
            return
        table, place = figures[passed], np.array(sources)
        table[:, 8] *= table[:, 7] - table[:, 4]
        squares, _, _, _, zeros, nan, inf, size, tiny = (
            np.bincount(place, weights=column, minlength=len(shot)) for column in table.T
        )
        rows = np.flatnonzero(size)
        nonzero = np.maximum(size - zeros, 1)
        found = (np.sqrt(squares), zeros / np.maximum(size, 1), nan, inf, tiny / nonzero)
        for name, values in zip(MEASURES[-5:], found, strict=True):
            self._write(name, rows.tolist(), values[rows])

    def _write(self, name: str, rows: list[int], values: Array) -> None:
        """Write one column."""
        column = self.columns[name]
        for row, value in zip(rows, values.tolist(), strict=True):
            column[row] = value


def _passing_on(shot: GraphSnapshot) -> dict[int, int]:
    """Return the rows that get from one node only, which passes on all that it gets -> that node."""
    arriving = [0] * len(shot)
    for target in [*shot.edge_target, *shot.roots]:
        arriving[target] += 1
    return {
        target: source
        for source, target, number in zip(shot.edge_source, shot.edge_target, shot.edge_output_nr, strict=True)
        if not number and arriving[target] == 1 and shot.op[source] in _RESHAPING
    }


def _merging(shot: GraphSnapshot) -> set[int]:
    """Return the nodes with a result that is added to another, or that is not the first that arrives somewhere."""
    arriving = [0] * len(shot)
    for target in shot.edge_target:
        arriving[target] += 1
    for root in shot.roots:
        arriving[root] += 1
    edges = zip(shot.edge_source, shot.edge_target, shot.edge_output_nr, strict=True)
    return {source for source, target, number in edges if number or arriving[target] > 1}
