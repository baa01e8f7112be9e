"""Observes nodes as they run: time of each, statistics of what arrives and of what it passes on, leaves filled."""

from __future__ import annotations

import math
import weakref
from time import perf_counter_ns
from typing import Any

from ....engine.base import TensorBase
from ...event_data import MEASURES, Values
from ...events import Event
from ...snapshot import GraphSnapshot
from .. import array_values as values
from ..base import Node
from .facts import saved_arrays
from .watching import Observer, Run, guarded, version

_GRADIENT = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")
Figures = tuple[float, ...] | None


class Gathered:
    """What is known of the nodes of one run, by row of its snapshot."""

    def __init__(self, shot: GraphSnapshot, order: list[Node], begin: int) -> None:
        self.rows = {id(node): row for row, node in enumerate(order)}
        self.columns: dict[str, list[float | None]] = {name: [None] * len(shot) for name in MEASURES}
        self.columns["saved_bytes"] = _saved_once(order)
        self.begin = begin
        self.started = perf_counter_ns()
        self.count = 0
        self.running: list[tuple[int | None, int | None, int]] = []
        """Row, sequence number and start of the nodes that are running."""
        self._figures: dict[int, tuple[Any, Figures]] = {}

    def figures(self, array: Any) -> Figures:
        """Figures of a gradient, worked out once for the node that makes it and the one that takes it."""
        known = self._figures.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        found = values.gradient_figures(array)
        self._figures[id(array)] = (weakref.ref(array), found)
        return found

    def arrives(self, row: int, grads: list[Any], thread: int) -> None:
        """Note what a node starts with."""
        columns = self.columns
        columns["order"][row] = self.count
        columns["thread"][row] = thread
        self.count += 1
        figures = self.figures(_array(grads[0])) if grads and grads[0] is not None else None
        if figures is not None:
            for name, figure in zip(_GRADIENT, figures, strict=True):
                columns[name][row] = figure

    def passes_on(self, row: int, results: Any) -> None:
        """Note what a node ends with."""
        squares, size, zeros, tiny, nan, inf = 0.0, 0, 0.0, 0.0, 0.0, 0.0
        for array in (_array(g) for g in results if g is not None):
            figures = self.figures(array)
            if figures is None:
                continue
            norm, low, high, _, zero, nans, infs = figures
            squares += norm * norm
            size, zeros, nan, inf = size + array.size, zeros + zero * array.size, nan + nans, inf + infs
            if array.dtype.kind == "f":
                tiny += values.tiny_share(array, max(abs(low), abs(high))) * (1 - zero) * array.size
        if size:
            found = (math.sqrt(squares), zeros / size, nan, inf, tiny / (size - zeros) if size > zeros else 0.0)
            for name, figure in zip(MEASURES[-5:], found, strict=True):
                self.columns[name][row] = figure

    def finish(self, shot: GraphSnapshot, *, failed: bool) -> dict[str, Any]:
        """Put the measures into the snapshot; returns what the event of the run's end is to say."""
        shot.measures.update(self.columns)
        data: dict[str, Any] = {"nodes": self.count}
        if failed and self.running and self.running[-1][1] is not None:
            data["failed_node"] = self.running[-1][1]
        self.rows.clear()
        self._figures.clear()
        return data


class Nodes(Observer):
    """Fills the measures of a run's snapshot, and sends ``accumulate``."""

    def prepare(self, run: Run, shot: GraphSnapshot, order: list[Node]) -> None:
        """A run is about to start over these nodes."""
        run.gathered = Gathered(shot, order, self.watching.begin)

    @guarded
    def node_began(self, node: Node, grads: list[Any]) -> None:
        """A node is about to run."""
        run = self.watching.run
        gathered = None if run is None else run.gathered
        if gathered is None:
            return
        row = gathered.rows.get(id(node))
        if row is not None:
            gathered.arrives(row, grads, self.watching.thread())
        number = None if node.accumulates else node._sequence_nr() - gathered.begin
        gathered.running.append((row, number, perf_counter_ns()))

    @guarded
    def node_ended(self, node: Node, grads: list[Any], results: Any) -> None:
        """It has run."""
        now = perf_counter_ns()
        run = self.watching.run
        gathered = None if run is None else run.gathered
        if gathered is None or not gathered.running:
            return
        row, _, began = gathered.running.pop()
        if row is not None:
            gathered.columns["started_us"][row] = (began - gathered.started) / 1e3
            gathered.columns["time_us"][row] = (now - began) / 1e3
            gathered.passes_on(row, results)

    @guarded
    def accumulating(self, leaf: TensorBase) -> None:
        """A gradient is about to be added to a leaf's."""
        have = None if leaf._meta is None else leaf._meta.grad
        here = self.watching.here
        here.before = "none" if have is None else "kept" if _any(have._array) else "zero"

    @guarded
    def accumulated(self, leaf: TensorBase, grad: Any) -> None:
        """It was added."""
        watching, run = self.watching, self.watching.run
        array = _array(grad)
        figures = values.gradient_figures(array) if run is None or run.gathered is None else run.gathered.figures(array)
        number = watching.number(leaf)
        data: dict[str, Any] = {"tensor": number, "before": watching.here.before, "version": version(leaf)}
        if run is not None:
            data["run"] = run.number
        if figures is not None:
            data["grad_norm"] = figures[0]
            data["grad"] = _as_values(array, figures)
        if run is not None and watching.sink.among_ranks():
            watching.here.runs[0].filled[number] = weakref.ref(leaf)
        if leaf._meta is not None and leaf._meta.grad is not None:
            name = watching.sink.tensors[number].name
            held = watching.number(leaf._meta.grad, name=f"{name}.grad" if name else "")
            watching.gradients[held] = number
        watching.send(Event("accumulate", source=None if run is None else run.line, data=data))


def kept_norms(filled: dict[int, weakref.ref[TensorBase]]) -> dict[str, float]:
    """Norms of what leaves have in ``.grad``, by number."""
    found = {}
    for number, reference in filled.items():
        leaf = reference()
        grad = None if leaf is None or leaf._meta is None else leaf._meta.grad
        figures = None if grad is None else values.gradient_figures(grad._array)
        if figures is not None:
            found[str(number)] = figures[0]
    return found


def _as_values(array: Any, figures: tuple[float, ...]) -> Values:
    if figures[5] or figures[6]:
        return values.summary(array)
    zero = round(figures[4] * array.size)
    return {"size": array.size, "nan": 0, "inf": 0, "zero": zero, "min": figures[1], "max": figures[2]}


def _array(g: Any) -> Any:
    return g._array if isinstance(g, TensorBase) else g


def _any(array: Any) -> bool:
    """Whether an array has an entry that is not zero; mostly the first few tell."""
    flat = array.ravel(order="K")
    return bool(flat[:1024].any() or flat.any())


def _saved_once(order: list[Node]) -> list[float | None]:
    """Bytes that each node keeps, memory that several keep counted for the first of them."""
    seen: set[int] = set()
    found: list[float | None] = []
    for node in order:
        arrays = saved_arrays(node)
        if arrays is None:
            found.append(None)
            continue
        total = 0
        for array in arrays:
            while array.base.__class__ is array.__class__:
                array = array.base
            if id(array) not in seen:
                seen.add(id(array))
                total += array.nbytes
        found.append(total)
    return found
