"""What is gathered of the nodes of one backward run while it is under way."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

from ....engine.tensors.base import TensorBase
from ...event_data import MEASURES
from ...snapshot import GraphSnapshot
from .. import array_values as values
from ..base import Node

_GRADIENT = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")
_PASSED = ("out_norm", "out_zero_share", "out_nan_count", "out_inf_count", "out_tiny_share")
_TIMES = ("time_us", "started_us")
_NO_TIMES: tuple[Any, ...] = (None,) * len(_TIMES)
_NO_GRADIENT: tuple[Any, ...] = (None,) * len(_GRADIENT)
_NOTHING_PASSED: tuple[Any, ...] = (None,) * len(_PASSED)


class Figures(NamedTuple):
    """The figures of one gradient, as they are noted where it arrives and where it is passed on."""

    arrived: tuple[float, ...]
    """Those of ``_GRADIENT``."""
    passed: tuple[float, ...]
    """Those of ``_PASSED``."""
    size: int


class Gathered:
    """What is known of the nodes of one run, by row of its snapshot."""

    def __init__(self, shot: GraphSnapshot, order: list[Node], begin: int, thread: int) -> None:
        self.rows = {id(node): row for row, node in enumerate(order)}
        self.columns: dict[str, list[float | None]] = {name: [None] * len(shot) for name in MEASURES}
        self.begin = begin
        self.thread = thread
        self.started = perf_counter_ns()
        self.running: list[tuple[Node, int | None, int]] = []
        """Node, row and start of the nodes that are running."""
        self._count = 0
        self._swept: list[tuple[Any, ...]] = []
        """What is to be put into the columns: nobody can read them before a sweep is over."""
        self._known: dict[int, tuple[Any, Figures | None]] = {}

    def figures(self, gradient: Any) -> Figures | None:
        """Figures of a gradient, worked out once for the node that makes it and those that take it or pass it on."""
        array = gradient._array if isinstance(gradient, TensorBase) else gradient
        known = self._known.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        found = self._of_whole_memory(array) or _figures_of(array)
        self._known[id(array)] = (weakref.ref(array), found)
        return found

    def arrived(self, gradient: Any) -> tuple[float, ...] | None:
        """The figures of a gradient as ``gradient_figures`` gives them."""
        found = self.figures(gradient)
        return None if found is None else found.arrived

    def _of_whole_memory(self, array: Any) -> Figures | None:
        """Those of the array that an array is a transpose or another shape of."""
        base = array.base
        known = None if base is None else self._known.get(id(base))
        if known is None or known[0]() is not base or base.size != array.size:
            return None
        return known[1] if array.dtype is base.dtype and array.flags.forc else None

    def forget(self) -> None:
        """A gradient was changed in place."""
        self._known.clear()

    # -- nodes of a full run
    def begins(self, node: Node, grads: list[Any]) -> None:
        """Note what a node starts with."""
        row = self.rows.get(id(node))
        if row is not None:
            self._fill_begin(row, self._count, self._arrived(grads))
            self._count += 1
        self.running.append((node, row, perf_counter_ns()))

    def ends(self, results: Any, now: int) -> None:
        """Note what the innermost running node ends with."""
        if self.running:
            _, row, began = self.running.pop()
            if row is not None:
                self._fill_end(row, began, now, self._all(results))

    # -- nodes of a sweep
    def swept(self, node: Node, grads: list[Any], results: Sequence[Any], began: int, ended: int) -> None:
        """Note what a node took and passed on."""
        row = self.rows.get(id(node))
        if row is not None:
            self._swept.append((row, began, ended, self._arrived(grads), self._all(results)))

    def failed(self, node: Node, grads: list[Any]) -> None:
        """Note what the node took at which a sweep ended."""
        row = self.rows.get(id(node))
        self.running.append((node, row, 0))
        if row is not None:
            self._swept.append((row, None, None, self._arrived(grads), []))

    def _arrived(self, grads: list[Any]) -> Figures | None:
        return self.figures(grads[0]) if grads and grads[0] is not None else None

    def _all(self, results: Sequence[Any]) -> list[Figures]:
        found = [self.figures(g) for g in results if g is not None]
        return [figures for figures in found if figures is not None]

    def _columns_of_sweep(self) -> dict[str, list[Any]]:
        """The columns of a run that was swept."""
        count = len(self.columns["order"])
        times, arriving, leaving = [_NO_TIMES] * count, [_NO_GRADIENT] * count, [_NOTHING_PASSED] * count
        for place, (row, began, ended, arrived, passed) in enumerate(self._swept):
            if began is not None:
                times[row] = ((ended - began) / 1e3, (began - self.started) / 1e3)
            self.columns["order"][row], self.columns["thread"][row] = place, self.thread
            if arrived is not None:
                arriving[row] = arrived.arrived
            if passed:
                leaving[row] = _together(passed)
        parts = ((_TIMES, times), (_GRADIENT, arriving), (_PASSED, leaving))
        return {
            name: list(column)
            for names, rows in parts
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }

    def _fill_begin(self, row: int, place: int, arrived: Figures | None) -> None:
        """Put what a node starts with into the columns."""
        columns = self.columns
        columns["order"][row], columns["thread"][row] = place, self.thread
        if arrived is not None:
            for name, figure in zip(_GRADIENT, arrived.arrived, strict=True):
                columns[name][row] = figure

    def _fill_end(self, row: int, began: int, ended: int, passed: list[Figures]) -> None:
        """Put times and what a node passes on into the columns."""
        columns = self.columns
        columns["started_us"][row] = (began - self.started) / 1e3
        columns["time_us"][row] = (ended - began) / 1e3
        if passed:
            for name, figure in zip(_PASSED, _together(passed), strict=True):
                columns[name][row] = figure

    def finish(self, shot: GraphSnapshot, *, failed: bool) -> dict[str, Any]:
        """Put the measures into the snapshot; returns what the event of the run's end is to say."""
        if self._swept:
            self.columns |= self._columns_of_sweep()
            self._count = len(self._swept)
        shot.measures.update(self.columns)
        data: dict[str, Any] = {"nodes": self._count}
        if failed and self.running and not self.running[-1][0].accumulates:
            data["failed_node"] = self.running[-1][0]._sequence_nr() - self.begin
        self.running.clear()
        self.rows.clear()
        self._swept.clear()
        self._known.clear()
        return data


def _figures_of(array: Any) -> Figures | None:
    """The figures of an array; None for one without real or complex entries."""
    found = values.gradient_figures(array)
    if found is None:
        return None
    norm, low, high, _, zero, nan, inf = found
    tiny = 0.0
    if array.dtype.kind == "f" and not values.has_no_tiny(array, found):
        tiny = values.tiny_share(array, max(abs(low), abs(high)))
    return Figures(found, (norm, zero, nan, inf, tiny), array.size)


def _together(passed: list[Figures]) -> tuple[float, ...]:
    """What is noted of all that a node passes on: norm, shares of zeros, numbers of NaN and infinities, tiny ones."""
    if len(passed) == 1:
        return passed[0].passed
    squares, size, zeros, tinies, nan, inf = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for _, (norm, zero, nans, infs, tiny), entries in passed:
        squares += norm * norm
        size, zeros, nan, inf = size + entries, zeros + zero * entries, nan + nans, inf + infs
        tinies += tiny * (1 - zero) * entries
    return math.sqrt(squares), zeros / size, nan, inf, tinies / (size - zeros) if size > zeros else 0.0
