"""Collects times and gradient statistics of the nodes of one backward pass, made into columns on first read."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from functools import partial
from itertools import count
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from .....engine.core.base import TensorBase
from ....graphs.graph import Graph
from ....recording.event_data import MEASURES
from ....references import Reference
from ... import array_values as values
from ...array_values import ordinary_norm
from ...base import Node
from .facts import array_of

_GRADIENT = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")
_PASSED = ("out_norm", "out_zero_share", "out_nan_count", "out_inf_count", "out_tiny_share")
_MANY = 10_000
"""Nodes from which on a pass is kept as columns: the notes take several times their memory."""

_Array, _ref = np.ndarray, weakref.ref
Columns = dict[str, list[float | None]]


class AllFigures(NamedTuple):
    """All statistics of one gradient, for where it arrives and where it is passed on."""

    arrived: tuple[float, ...]
    """Those of ``_GRADIENT``."""
    passed: tuple[float, ...]
    """Those of ``_PASSED``."""
    size: int


class _Gradient:
    """An object that dies at once."""


_NOBODY: tuple[weakref.ref[Any], None] = (Reference(_Gradient()), None)
"""Entry of an unknown gradient: a dead reference."""
Figures = AllFigures | float
"""The norm alone for a gradient of ordinary numbers in most passes."""
Ran = tuple[int, int | None, int | None, Figures | None, Figures | list[Figures] | None]
"""A node that ran, or began to: index, begin and end in ns, statistics of incoming and outgoing gradients."""


def arrived_figures(figures: Figures) -> tuple[float | None, ...]:
    """Return the statistics of ``_GRADIENT``; None if not computed in this pass."""
    return (figures, None, None, None, None, 0, 0) if isinstance(figures, float) else figures.arrived


def _passed(figures: Figures) -> tuple[float | None, ...]:
    """Return the statistics of ``_PASSED``."""
    return (figures, None, 0, 0, 0.0) if isinstance(figures, float) else figures.passed


class Measures:
    """Measurements of the nodes of one pass, by index in its snapshot."""

    def __init__(
        self, snapshot: Graph, order: list[Node], saved: list[float | None], thread: int, *, whole: bool
    ) -> None:
        """``saved`` holds the bytes that each node saves; ``whole``: compute all statistics."""
        self._snapshot = snapshot
        self._whole = whole
        self._rows = dict(zip(map(id, order), count()))
        self._ran: list[Ran] = []
        self._running: list[tuple[Node, int | None]] = []
        """Nodes that are running, with their indices in ``_ran``."""
        self._known: dict[int, tuple[weakref.ref[Any], Figures | None]] = {}
        """Statistics by id of the array, since several nodes receive and pass on the same one."""
        self._columns = partial(_columns, self._ran, len(order), thread, perf_counter_ns(), saved)
        # In the snapshot from the beginning: a hang is explained from a file that is saved while nodes run.
        snapshot.measure_later(self._columns, lasting=False)

    def figures(self, gradient: Any) -> Figures | None:
        """Return the statistics of a gradient, computed once for the nodes that make, receive or pass it on.

        To be called while NumPy is quiet.
        """
        reference, found = self._known.get(id(gradient), _NOBODY)
        return found if reference() is gradient else self._taken(gradient)

    def _taken(self, gradient: Any) -> Figures | None:
        """Return the statistics of an unknown gradient."""
        found: Figures | None
        if gradient.__class__ is _Array and gradient.base is None:  # mostly
            found = (None if self._whole else ordinary_norm(gradient)) or figures_of(gradient, whole=self._whole)
        elif isinstance(gradient, np.generic):  # a rule's arithmetic on arrays without dimensions; no weak reference
            return figures_of(np.asarray(gradient), whole=self._whole)
        elif isinstance(gradient, TensorBase):
            return self._of_tensor(gradient)
        else:
            found = self._of_whole_memory(gradient) or figures_of(gradient, whole=self._whole)
        self._known[id(gradient)] = (_ref(gradient), found)
        return found

    def _of_tensor(self, gradient: TensorBase) -> Figures | None:
        """Return the statistics of a tensor; of a sparse one, whose entries are copied, cached by itself."""
        if not gradient.is_sparse:
            return self.figures(gradient._array)
        found = figures_of(array_of(gradient), whole=self._whole)
        self._known[id(gradient)] = (Reference(gradient), found)
        return found

    def _of_whole_memory(self, array: Any) -> Figures | None:
        """Return the statistics of the array of which an array is a transpose or reshape."""
        base = array.base
        known = None if base is None else self._known.get(id(base))
        if known is None or base.size != array.size or base.dtype is not array.dtype or not array.flags.forc:
            return None
        return known[1] if known[0]() is base else None

    def forget(self) -> None:
        """Drop cached statistics: a gradient was changed in place."""
        self._known.clear()

    # -- nodes of a full run
    def begins(self, node: Node, grads: list[Any]) -> None:
        """Note the incoming gradients of a node."""
        row, place = self._rows.get(id(node)), None
        if row is not None:
            place = len(self._ran)
            arrived = self.figures(grads[0]) if grads and grads[0] is not None else None
            self._ran.append((row, perf_counter_ns(), None, arrived, None))
        self._running.append((node, place))

    def ends(self, results: Any, now: int) -> None:
        """Note the results of the innermost running node."""
        if self._running:
            node, place = self._running.pop()
            if place is not None:
                row, began, _, arrived, _ = self._ran[place]
                self._ran[place] = (row, began, now, arrived, self._all(node, results))

    # -- nodes of a sweep
    def swept(self, node: Node, grads: list[Any], results: Sequence[Any], began: int, ended: int) -> None:
        """Note a node's incoming gradients and results."""
        row = self._rows.get(id(node))
        if row is None:
            return
        known, taken, arrived = self._known.get, self._taken, None
        if grads:  # as ``figures``, whose calls, three a node, would take as long as looking gradients up
            gradient = grads[0]
            reference, arrived = known(id(gradient), _NOBODY)
            if reference() is not gradient:
                arrived = taken(gradient)
        passed: list[Figures] = []
        for gradient in results:
            reference, found = known(id(gradient), _NOBODY)
            if reference() is not gradient:
                found = taken(gradient)
            if found is not None:
                passed.append(found)
        self._ran.append((row, began, ended, arrived, passed[0] if len(passed) == 1 else passed))

    def took(self, leaves: list[tuple[Node, Any, int, int]]) -> list[Figures | None]:
        """Note the gradients that leaves received; return their statistics."""
        found = []
        rows, known, taken, ran = self._rows, self._known.get, self._taken, self._ran
        for node, gradient, began, ended in leaves:
            reference, arrived = known(id(gradient), _NOBODY)  # as ``figures``
            if reference() is not gradient:
                arrived = taken(gradient)
            found.append(arrived)
            row = rows.get(id(node))
            if row is not None:
                ran.append((row, began, ended, arrived, None))
        return found

    def failed(self, node: Node, grads: list[Any]) -> None:
        """Note the incoming gradients of the node at which a sweep ended."""
        row = self._rows.get(id(node))
        self._running.append((node, None))
        if row is not None:
            arrived = self.figures(grads[0]) if grads and grads[0] is not None else None
            self._ran.append((row, None, None, arrived, None))

    def _all(self, node: Node, results: Sequence[Any]) -> Figures | list[Figures]:
        """Return the statistics of all results of a node; not a list if there is only one."""
        found: list[Figures] = []
        figures, edges = self.figures, () if node.accumulates else node._edges
        for gradient, edge in zip(results, edges, strict=False):
            if edge is not None and (one := figures(gradient)) is not None:
                found.append(one)
        return found[0] if len(found) == 1 else found

    def finish(self, begin: int, *, failed: bool) -> dict[str, Any]:
        """Complete the measures; return data for the event at the end, with nodes counted from ``begin``."""
        self._snapshot.measure_later(self._columns, lasting=True)
        if len(self._rows) > _MANY:
            _ = self._snapshot.measures
        data: dict[str, Any] = {"nodes": len(self._ran)}
        if failed and self._running and not self._running[-1][0].accumulates:
            data["failed_node"] = self._running[-1][0]._sequence_nr() - begin
        self._running.clear()
        self._known.clear()
        return data


def figures_of(array: Any, *, whole: bool) -> Figures | None:
    """Return the statistics of an array, or those computed in every pass; None without real or complex entries."""
    if not values.has_data(array):
        return None
    norm = None if whole else values.ordinary_norm(array)
    if norm is not None:
        return norm
    found = values.gradient_figures(array)
    if found is None:
        return None
    norm, low, high, _, zero, nan, inf = found
    tiny = 0.0
    if array.dtype.kind == "f" and not values.has_no_tiny(array, found):
        tiny = values.tiny_share(array, max(abs(low), abs(high)))
    return AllFigures(found, (norm, zero, nan, inf, tiny), array.size)


# -- columns


def _columns(ran: list[Ran], size: int, thread: int, started: int, saved: list[float | None]) -> Columns:
    """Return the columns of a pass with ``size`` nodes, of which these have run so far."""
    columns: Columns = {name: [None] * size for name in MEASURES}
    columns["saved_bytes"] = saved
    times, begins = columns["time_us"], columns["started_us"]
    for place, (row, began, ended, came, went) in enumerate(tuple(ran)):
        columns["order"][row], columns["thread"][row] = place, thread
        if began is not None and ended is not None:
            times[row], begins[row] = (ended - began) / 1e3, (began - started) / 1e3
        for names, found in ((_GRADIENT, came and arrived_figures(came)), (_PASSED, went and _together(went))):
            for name, figure in zip(names, found or (), strict=False):
                columns[name][row] = figure
    return columns


def _together(figures: Figures | list[Figures]) -> tuple[float | None, ...]:
    """Return statistics of all results of a node: norm, shares of zeros, numbers of NaN and infinities, tiny ones."""
    if not isinstance(figures, list):
        return _passed(figures)
    norms, zero_shares, nans, infs, tiny_shares = zip(*map(_passed, figures), strict=True)
    norm = math.sqrt(sum([one * one for one in norms]))
    if None in zero_shares:  # then no entry that counts is tiny
        return norm, None, sum(nans), sum(infs), max(tiny_shares)
    sizes = [one.size for one in figures if isinstance(one, AllFigures)]
    zeros = [share * size for share, size in zip(zero_shares, sizes, strict=True)]
    tiny = sum([share * (size - none) for share, size, none in zip(tiny_shares, sizes, zeros, strict=True)])
    nonzero = sum(sizes) - sum(zeros)
    return norm, sum(zeros) / sum(sizes), sum(nans), sum(infs), tiny / nonzero if nonzero > 0 else 0.0
