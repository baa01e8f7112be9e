"""Puts the measures of one run into the columns of its snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..event_data import MEASURES
from .array_values import Array

_GRADIENT = ("grad_norm", "grad_min", "grad_max", "grad_mean", "zero_share", "nan_count", "inf_count")
_RESULTS = ("out_norm", "out_zero_share", "out_nan_count", "out_inf_count", "out_tiny_share")

Column = list[Any]


class MeasureColumns:
    """The columns in the making, by row of the snapshot; None where nothing was measured."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.columns: dict[str, Column] = {name: [None] * size for name in MEASURES}

    def put_times(
        self, runs: Sequence[tuple[int, int, int]], ends: dict[int, int], started: int, finished: int
    ) -> None:
        """Write when each node ran: row, begin and end of our looking at it before, in order of execution.

        A node's time ends with our hook after it (``ends``, by row), else where the next node's begins.
        """
        if not runs:
            return
        rows, begins, ran = np.array(runs, np.int64).T
        following = np.append(begins[1:], finished)
        if ends:
            own = np.full(self._size, finished)
            own[list(ends)] = list(ends.values())
            following = np.minimum(following, own[rows])
        self._write("time_us", rows, (following - ran) / 1e3)
        self._write("started_us", rows, (ran - started) / 1e3)
        self._write("thread", rows, np.zeros(len(rows), np.int64))

    def put_gradients(self, rows: Array, table: Array) -> None:
        """Write what arrived in these rows: a row of the table of figures for each."""
        squares, low, high, total, zeros, nan, inf, size, _ = table.T
        figures = (np.sqrt(squares), low, high, total / size, zeros / size, nan, inf)
        for name, values in zip(_GRADIENT, figures, strict=True):
            self._write(name, rows, values)

    def put_results(self, sources: Array, table: Array, around: Array) -> None:
        """Add up what nodes passed on: row of the node, figures, and number of zeros around that, for each result."""
        table[:, 8] *= table[:, 7] - table[:, 4]
        table[:, 4] += around
        table[:, 7] += around
        squares, _, _, _, zeros, nan, inf, size, tiny = (
            np.bincount(sources, weights=column, minlength=self._size) for column in table.T
        )
        filled = np.flatnonzero(size)
        nonzero = np.maximum(size - zeros, 1)
        found = (np.sqrt(squares), zeros / np.maximum(size, 1), nan, inf, tiny / nonzero)
        for name, values in zip(_RESULTS, found, strict=True):
            self._write(name, filled, values[filled])

    def _write(self, name: str, rows: Array, values: Array) -> None:
        """Write one column."""
        column = np.full(self._size, None)
        column[rows] = values.tolist()
        self.columns[name] = column.tolist()
