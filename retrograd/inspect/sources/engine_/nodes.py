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
from .watching import Observer, Pictured, Run, guarded, report_problem, version

_GRADIENT = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")
_PASSED = ("out_norm", "out_zero_share", "out_nan_count", "out_inf_count", "out_tiny_share")
_REMEMBERED = 64
"""Figures of arrays of fewer entries are worked out again sooner than found again."""
Figures = tuple[float, ...] | None


class Gathered:
    """What is known of the nodes of one run, by row of its snapshot."""

    def __init__(self, shot: GraphSnapshot, order: list[Node], begin: int, thread: int) -> None:
        self.rows = {id(node): row for row, node in enumerate(order)}
        self.columns: dict[str, list[float | None]] = {name: [None] * len(shot) for name in MEASURES}
        self.begin = begin
        self.thread = thread
        self.started = perf_counter_ns()
        self.count = 0
        self.running: list[tuple[Node, int | None, int]] = []
        """Node, row and start of the nodes that are running."""
        self._order, self._thread = self.columns["order"], self.columns["thread"]
        self._started, self._time = self.columns["started_us"], self.columns["time_us"]
        self._arrived = [self.columns[name] for name in _GRADIENT]
        self._passed = [self.columns[name] for name in _PASSED]
        self._figures: dict[int, tuple[Any, Figures]] = {}

    def figures(self, array: Any) -> Figures:
        """Figures of a gradient, worked out once for the node that makes it and those that take it or pass it on."""
        if array.size < _REMEMBERED:
            return values.gradient_figures(array)
        known = self._figures.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        found = self._of_whole_memory(array) or values.gradient_figures(array)
        self._figures[id(array)] = (weakref.ref(array), found)
        return found

    def _of_whole_memory(self, array: Any) -> Figures:
        """Those of the array that an array is a transpose or another shape of."""
        base = array.base
        known = None if base is None else self._figures.get(id(base))
        if known is None or known[0]() is not base or base.size != array.size:
            return None
        return known[1] if array.dtype is base.dtype and array.flags.forc else None

    def forget(self) -> None:
        """A gradient was changed in place."""
        self._figures.clear()

    def begins(self, node: Node, grads: list[Any]) -> None:
        """Note what a node starts with."""
        row = self.rows.get(id(node))
        if row is not None:
            self._takes(row, grads)
        self.running.append((node, row, perf_counter_ns()))

    def ends(self, results: Any, now: int) -> None:
        """Note what the innermost running node ends with."""
        if self.running:
            _, row, began = self.running.pop()
            if row is not None:
                self._passes_on(row, results, began, now)

    def swept(self, node: Node, grads: list[Any], results: Any, began: int, ended: int) -> None:
        """Note what a node of a sweep took and passed on."""
        row = self.rows.get(id(node))
        if row is not None:
            self._takes(row, grads)
            self._passes_on(row, results, began, ended)

    def fails(self, node: Node) -> None:
        """A node of a sweep raised."""
        self.running.append((node, self.rows.get(id(node)), 0))

    def _takes(self, row: int, grads: list[Any]) -> None:
        """Note place in the order, and the figures of what arrived."""
        self._order[row] = self.count
        self._thread[row] = self.thread
        self.count += 1
        figures = self.figures(_array(grads[0])) if grads and grads[0] is not None else None
        if figures is not None:
            for column, figure in zip(self._arrived, figures, strict=True):
                column[row] = figure

    def _passes_on(self, row: int, results: Any, began: int, now: int) -> None:
        """Note times, and the figures of what a node passes on."""
        self._started[row] = (began - self.started) / 1e3
        self._time[row] = (now - began) / 1e3
        arrays = [_array(g) for g in results if g is not None]
        found = self._alone(arrays[0]) if len(arrays) == 1 else self._together(arrays)
        if found is not None:
            for column, figure in zip(self._passed, found, strict=True):
                column[row] = figure

    def _alone(self, array: Any) -> Figures:
        """What is noted of the one gradient that a node passes on."""
        figures = self.figures(array)
        return None if figures is None else (figures[0], *figures[4:], _tiny(array, figures))

    def _together(self, arrays: list[Any]) -> Figures:
        """What is noted of several."""
        squares, size, zeros, tiny, nan, inf = 0.0, 0, 0.0, 0.0, 0.0, 0.0
        for array in arrays:
            figures = self.figures(array)
            if figures is None:
                continue
            norm, _, _, _, zero, nans, infs = figures
            squares += norm * norm
            size, zeros, nan, inf = size + array.size, zeros + zero * array.size, nan + nans, inf + infs
            tiny += _tiny(array, figures) * (1 - zero) * array.size
        if not size:
            return None
        return math.sqrt(squares), zeros / size, nan, inf, tiny / (size - zeros) if size > zeros else 0.0

    def finish(self, shot: GraphSnapshot, *, failed: bool) -> dict[str, Any]:
        """Put the measures into the snapshot; returns what the event of the run's end is to say."""
        shot.measures.update(self.columns)
        data: dict[str, Any] = {"nodes": self.count}
        if failed and self.running and not self.running[-1][0].accumulates:
            data["failed_node"] = self.running[-1][0]._sequence_nr() - self.begin
        self.running.clear()
        self.rows.clear()
        self._figures.clear()
        return data


def _tiny(array: Any, figures: tuple[float, ...]) -> float:
    """Share of the non-zero entries of a real gradient below the smallest normal number."""
    if array.dtype.kind != "f" or values.has_no_tiny(array, figures):
        return 0.0
    return values.tiny_share(array, max(abs(figures[1]), abs(figures[2])))


class Nodes(Observer):
    """Fills the measures of a run's snapshot, and sends ``accumulate``."""

    def prepare(self, run: Run, pictured: Pictured) -> None:
        """A run is about to start over these nodes."""
        run.gathered = Gathered(pictured.shot, pictured.order, self.watching.begin, self.watching.thread())
        run.gathered.columns["saved_bytes"] = list(pictured.saved_once)

    # These two are called most often of all, and guard themselves: on a thread that is not watched there is no run.
    def node_began(self, node: Node, grads: list[Any]) -> None:
        """A node is about to run."""
        runs = self.watching.here.runs
        if runs and runs[-1].gathered is not None:
            try:
                runs[-1].gathered.begins(node, grads)
            except Exception as failure:  # never the program's business
                report_problem(self.watching, failure)

    def node_ended(self, node: Node, grads: list[Any], results: Any) -> None:
        """It has run."""
        now = perf_counter_ns()
        runs = self.watching.here.runs
        if runs and runs[-1].gathered is not None:
            try:
                runs[-1].gathered.ends(results, now)
            except Exception as failure:  # never the program's business
                report_problem(self.watching, failure)

    def swept(self, node: Node, grads: list[Any], results: Any, began: int, ended: int) -> None:
        """One of a sweep has run."""
        runs = self.watching.here.runs
        if runs and runs[-1].gathered is not None:
            try:
                runs[-1].gathered.swept(node, grads, results, began, ended)
            except Exception as failure:  # never the program's business
                report_problem(self.watching, failure)

    @guarded
    def sweep_failed(self, node: Node) -> None:
        """One of a sweep raised."""
        run = self.watching.run
        if run is not None and run.gathered is not None:
            run.gathered.fails(node)

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
