"""The measure columns of one backward pass, computed on first read from what was noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..recording.event_data import MEASURES
from .array_values import Array
from .passing import BY_SOURCE, BY_TARGET, Passing

Column = list[Any]
Columns = dict[str, Column]


class Worked(NamedTuple):
    """Computed statistics of gradients."""

    keys: list[int]
    """For each row of the table an index of a node, whose incoming gradient it is, or beyond those of an edge."""
    table: Array
    """Norm squared, minimum, maximum, sum, number of zeros, of NaN and of infinities, size, share of tiny entries.

    NaN for those that were not taken.
    """

    def close(self) -> Worked:
        """Compute what is left."""
        return self


class Figures(Protocol):
    """Provides the table when it is needed."""

    def close(self) -> Worked:
        """Compute what is left."""


class Taken(NamedTuple):
    """Raw measurements of one pass; times are in nanoseconds of one clock."""

    sequence: list[int]
    """Indices of the nodes that ran, in order."""
    runs: list[int]
    """For each hook before a node, in turn: node, begin and end of our hook."""
    ends: dict[int, int]
    """Node -> when the hook after it began, if there is one."""
    started: int
    finished: int
    figures: Figures
    """Statistics of the measured gradients."""
    passing: Passing
    edge_source: list[int]
    edge_target: list[int]
    saved_bytes: Column | None


def measured_columns(taken: Taken) -> Columns:
    """Return the columns by name; None where nothing was measured."""
    size = len(taken.passing.measured_by)
    columns: Columns = {name: [None] * size for name in MEASURES}
    for place, row in enumerate(taken.sequence):
        columns["order"][row], columns["thread"][row] = place, 0
    _put_times(columns, taken)
    keys, table = taken.figures.close()
    if len(table):
        numbers = np.full(size + len(taken.edge_source), -1)
        numbers[keys] = np.arange(len(keys))
        arrived = np.full(size, -1)
        arrived[taken.sequence] = numbers[taken.passing.measured_by[taken.sequence]]
        rows = np.flatnonzero(arrived >= 0)
        _put_gradients(columns, rows, table[arrived[rows]])
        passed, edges = _passed_on(taken, arrived, numbers[size:])
        sources = np.array(taken.edge_source, np.int64)[edges]
        _put_results(columns, sources, table[passed], taken.passing.around[edges])
    if taken.saved_bytes is not None:
        columns["saved_bytes"] = taken.saved_bytes
    return columns


def live_columns(
    size: int, runs: Sequence[int], before: dict[int, tuple[int, ...]], saved_bytes: Column | None
) -> Columns:
    """Return order and times of the nodes that have run so far; the last one is still running."""
    order: Column = [None] * size
    times: Column = [None] * size
    seen, count = list(runs), 0
    for place in range(0, len(seen) - 2, 3):
        row, _, ran = seen[place : place + 3]
        for one in (*before.get(row, ()), row):
            order[one], count = count, count + 1
        if place + 4 < len(seen):
            times[row] = (seen[place + 4] - ran) / 1e3
    columns = {"order": order, "time_us": times}
    return columns if saved_bytes is None else {**columns, "saved_bytes": saved_bytes}


def _put_times(columns: Columns, taken: Taken) -> None:
    """Write when each node ran; it ends with our hook after it, else when the next node begins."""
    rows, begins, ran = np.array(taken.runs, np.int64).reshape(-1, 3).T
    following = np.append(begins[1:], taken.finished)[: len(rows)]
    if taken.ends:
        own = np.full(len(columns["order"]), taken.finished)
        own[list(taken.ends)] = list(taken.ends.values())
        following = np.minimum(following, own[rows])
    _write(columns, "time_us", rows, (following - ran) / 1e3)
    _write(columns, "started_us", rows, (ran - taken.started) / 1e3)


def _put_gradients(columns: Columns, rows: Array, table: Array) -> None:
    """Write the statistics of the gradients that arrived at these nodes."""
    squares, low, high, total, zeros, nan, inf, size, _ = table.T
    for name, values in zip(("grad_norm", "nan_count", "inf_count"), (np.sqrt(squares), nan, inf), strict=True):
        _write(columns, name, rows, values)
    whole = ~np.isnan(zeros)  # those of which all statistics was taken
    names, figures = ("grad_min", "grad_max", "grad_mean", "zero_share"), (low, high, total / size, zeros / size)
    for name, values in zip(names, figures, strict=True):
        _write(columns, name, rows[whole], values[whole])


def _passed_on(taken: Taken, arrived: Array, results: Array) -> tuple[Array, Array]:
    """Return the rows of the table for gradients on edges, and these edges.

    ``arrived`` are the rows for each node's incoming gradient, ``results`` those for each edge; -1 for none.
    """
    ways = taken.passing.ways
    numbers = np.full(len(ways), -1)
    for way, ends in ((BY_TARGET, taken.edge_target), (BY_SOURCE, taken.edge_source)):
        edges = np.flatnonzero(ways == way)
        numbers[edges] = arrived[np.array(ends, np.int64)[edges]]
    numbers = np.where(results < 0, numbers, results)
    edges = np.flatnonzero(numbers >= 0)
    return numbers[edges], edges


def _put_results(columns: Columns, sources: Array, table: Array, around: Array) -> None:
    """Add up what nodes passed on: node, statistics, and number of zeros around that, for each result."""
    table[:, 8] *= table[:, 7] - np.nan_to_num(table[:, 4])  # where zeros were not counted, nothing is tiny
    table[:, 4] += around
    table[:, 7] += around
    length = len(columns["order"])
    squares, _, _, _, zeros, nan, inf, size, tiny = (
        np.bincount(sources, weights=column, minlength=length) for column in table.T
    )
    filled = np.flatnonzero(size)
    nonzero = np.maximum(size - np.nan_to_num(zeros), 1)
    names = ("out_norm", "out_nan_count", "out_inf_count", "out_tiny_share")
    for name, values in zip(names, (np.sqrt(squares), nan, inf, tiny / nonzero), strict=True):
        _write(columns, name, filled, values[filled])
    whole = np.flatnonzero((size > 0) & ~np.isnan(zeros))
    _write(columns, "out_zero_share", whole, zeros[whole] / size[whole])


def _write(columns: Columns, name: str, rows: Array, values: Array) -> None:
    """Write one column."""
    column = np.full(len(columns[name]), None)
    column[rows] = values.tolist()
    columns[name] = column.tolist()
