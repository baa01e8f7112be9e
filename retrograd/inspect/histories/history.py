"""Statistics of all steps in bounded memory: the newest step by step, older ones merged into stretches."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

_MOST_ROWS = 4096
"""Largest number of steps kept one by one, even if memory would allow more."""
_FEWEST_ROWS = 64
_SPAN = 4
"""Steps of the first stretches; when there are too many stretches, pairs are merged."""


class Column(NamedTuple):
    """Key of one column: ``Column("gradient", "net.0.weight")``, ``Column("loss", "")``."""

    figure: str
    owner: str = ""


FIGURES_OF_STEPS = ("loss", "rate", "scale", "clip", "seconds", "nodes", "held", "memory", "value")
"""Statistics of whole steps, in display order."""


@dataclass(frozen=True)
class Curves:
    """Statistics by stretches of steps, in order: ``least[i, j]`` for stretch ``i`` and column ``j``; NaN if none."""

    columns: tuple[Column, ...]
    first: Array
    """First step of each stretch."""
    last: Array
    """Last step; equal to the first where steps are kept one by one."""
    least: Array
    median: Array
    """Median of the steps; of merged stretches, the mean of their medians."""
    greatest: Array

    def __len__(self) -> int:
        return len(self.first)

    def of(self, figure: str, owner: str = "", which: Literal["least", "median", "greatest"] = "median") -> Array:
        """Return one column: for each stretch the median or an extreme, NaN if there is no such column."""
        place, values = self._places.get(Column(figure, owner)), getattr(self, which)
        return np.full(len(self), np.nan, np.float32) if place is None else np.asarray(values[:, place])

    def update_ratio(self, owner: str) -> Array:
        """Return the change of a parameter in each step relative to its norm."""
        with np.errstate(all="ignore"):
            return np.asarray(self.of("update", owner) / self.of("weight", owner))

    @functools.cached_property
    def _places(self) -> dict[Column, int]:
        """Column -> index; a run of 500 parameters has 2,500."""
        return {column: number for number, column in enumerate(self.columns)}

    def owners(self, figure: str) -> list[str]:
        """Return the names that have a column of a statistic, in order."""
        return [column.owner for column in self.columns if column.figure == figure]


class History:
    """Takes one row of statistics per step, in at most a given number of bytes."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self.begin_anew()

    def begin_anew(self) -> None:
        """Hold nothing."""
        self.columns: list[Column] = []
        self._places: dict[Column, int] = {}
        self._rows = _FEWEST_ROWS
        self._recent = np.empty((self._rows, 0), np.float32)
        self._steps = np.zeros(self._rows, np.int64)
        self._count = 0
        self._old = _no_stretches(0)
        self._span = _SPAN

    def places(self, columns: Sequence[Column]) -> Array:
        """Return the indices of these columns in a row; new columns are appended."""
        new = [column for column in columns if column not in self._places]
        if new:
            self._places.update({column: len(self.columns) + number for number, column in enumerate(new)})
            self.columns += new
            self._widen()
        return np.array([self._places[column] for column in columns], np.intp)

    def append(self, step: int, row: Array) -> None:
        """Add the statistics of one step, which may be shorter than the number of columns."""
        if self._count == self._rows:
            self._thin()
        self._recent[self._count, : len(row)] = row
        self._recent[self._count, len(row) :] = np.nan
        self._steps[self._count] = step
        self._count += 1

    def newest(self, count: int) -> Curves:
        """Return the last steps that are kept one by one."""
        begin = max(0, self._count - count)
        steps, rows = self._steps[begin : self._count], self._recent[begin : self._count]
        return Curves(tuple(self.columns), steps, steps, rows, rows, rows)

    def curves(self) -> Curves:
        """Return all statistics."""
        steps, recent = self._steps[: self._count], self._recent[: self._count]
        first, last, least, median, greatest = self._old
        return Curves(
            tuple(self.columns),
            np.concatenate([first, steps]),
            np.concatenate([last, steps]),
            *(np.concatenate([old, recent]) for old in (least, median, greatest)),
        )

    def take_in(self, earlier: Curves) -> None:
        """Begin with an earlier run's statistics, as stretches."""
        self.places(earlier.columns)
        figures = (earlier.least, earlier.median, earlier.greatest)
        self._old = (earlier.first, earlier.last, *figures)
        while len(self._old[0]) > self._rows // 2:
            self._old = _pairs(self._old)

    def _widen(self) -> None:
        """Add room for more columns, with fewer rows if memory requires it."""
        width = len(self.columns)
        fitting = self._memory // (4 * max(width, 1) * 4)
        rows = 1 << (int(min(max(fitting, _FEWEST_ROWS), _MOST_ROWS)).bit_length() - 1)
        while self._count > rows:
            self._thin()
        old, count = self._recent, self._count
        self._recent = np.full((rows, width), np.nan, np.float32)
        self._recent[:count, : old.shape[1]] = old[:count]
        self._steps = np.concatenate([self._steps[:count], np.zeros(rows - count, np.int64)])
        self._rows = rows
        first, last, *figures = self._old
        more = [np.full((len(first), width), np.nan, np.float32) for _ in figures]
        for wide, narrow in zip(more, figures, strict=True):
            wide[:, : narrow.shape[1]] = narrow
        self._old = (first, last, more[0], more[1], more[2])

    def _thin(self) -> None:
        """Merge the older half of the steps into stretches."""
        half = self._count // 2
        span = min(self._span, half)
        count = half // span
        taken = count * span
        rows = self._recent[:taken].reshape(count, span, -1)
        steps = self._steps[:taken].reshape(count, span)
        new = (steps[:, 0], steps[:, -1], *_figures(rows))
        self._old = _joined(self._old, new)
        self._recent[: self._count - taken] = self._recent[taken : self._count].copy()
        self._steps[: self._count - taken] = self._steps[taken : self._count].copy()
        self._count -= taken
        while len(self._old[0]) > self._rows // 2:
            self._old = _pairs(self._old)
            self._span *= 2


def halved(curves: Curves) -> Curves:
    """Return curves with half as many stretches, merged in pairs."""
    return Curves(curves.columns, *_pairs((curves.first, curves.last, curves.least, curves.median, curves.greatest)))


_Stretches = tuple[Array, Array, Array, Array, Array]
"""First and last step, least, median and greatest statistics."""


def _no_stretches(width: int) -> _Stretches:
    none, figures = np.zeros(0, np.int64), np.zeros((0, width), np.float32)
    return none, none, figures, figures, figures


def _figures(rows: Array) -> tuple[Array, Array, Array]:
    """Return least, median and greatest along the second dimension, ignoring NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all NaN: nothing was measured
        median = np.nanmedian(rows, axis=1)
    return np.fmin.reduce(rows, axis=1), median.astype(np.float32), np.fmax.reduce(rows, axis=1)


def _joined(old: _Stretches, new: _Stretches) -> _Stretches:
    first, last, least, median, greatest = (np.concatenate(pair) for pair in zip(old, new, strict=True))
    return first, last, least, median, greatest


def _pairs(old: _Stretches) -> _Stretches:
    """Merge stretches in pairs; a last single one stays."""
    count = len(old[0]) // 2 * 2
    first, last, least, median, greatest = (one[:count] for one in old)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        middle = np.nanmean(np.stack([median[::2], median[1::2]]), axis=0)
    joined = (
        first[::2],
        last[1::2],
        np.fmin(least[::2], least[1::2]),
        middle.astype(np.float32),
        np.fmax(greatest[::2], greatest[1::2]),
    )
    rest = tuple(one[count:] for one in old)
    return _joined(joined, (rest[0], rest[1], rest[2], rest[3], rest[4]))
