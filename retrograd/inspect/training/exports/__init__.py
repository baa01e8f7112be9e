"""Exports of a watched run for other tools, a file for each; their libraries are imported on use.

A new one is one new file with a module-level ``EXPORT``; the folder is listed, nothing else.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ....errors import LayoutError, UnknownFormatError
from ...histories.watched_file import WatchedRun
from ...plugins import plugins_in


class Export(Protocol):
    """One export format: a file of this folder whose ``EXPORT`` is an object of this type."""

    name: str
    suffixes: tuple[str, ...]
    """File suffixes; empty if a folder is written."""

    def write(self, run: WatchedRun, path: str) -> None:
        """Write a run to a file or folder; raises ``OutputError``, or ``ImportError`` without the library."""


class Row(NamedTuple):
    """The statistics of one step, or of a stretch of steps."""

    first: int
    last: int
    seconds: float
    """Seconds since the run began, where steps were timed."""
    least: dict[str, float]
    median: dict[str, float]
    greatest: dict[str, float]
    """By ``loss``, ``gradient/net.0.weight``; without what there is none of."""


@functools.cache
def exports() -> dict[str, Export]:
    """Return all export formats by name."""
    found = plugins_in(sys.modules[__name__], "EXPORT").values()
    return {one.name: one for one in found}


def export_for(wanted: str) -> Export | None:
    """Return the export format with this name, or for a file's suffix."""
    known = exports()
    return known.get(wanted) or next((one for one in known.values() if wanted.endswith(one.suffixes or "\0")), None)


def export(run: WatchedRun, path: str, fmt: str | None = None) -> None:
    """Write a run for another tool, in the form of the file's suffix or ``fmt``.

    Raises ``UnknownFormatError``, ``OutputError``, and ``LayoutError`` where the tool's library is not installed.
    """
    form = export_for(fmt or path)
    if form is None:
        raise UnknownFormatError(
            f"{fmt or path!r} is not an export format of a watched run.", f"There are: {', '.join(exports())}."
        )
    try:
        form.write(run, path)
    except ImportError as error:
        raise LayoutError(
            f"Writing {form.name} needs {error.name}, which is not installed.", f"pip install {error.name}"
        ) from error


def rows(run: WatchedRun) -> Iterator[Row]:
    """Yield the statistics of a run, oldest steps first."""
    curves = run.curves
    names = [f"{column.figure}/{column.owner}" if column.owner else column.figure for column in curves.columns]
    lengths = curves.last - curves.first + 1
    seconds = np.cumsum(np.nan_to_num(curves.of("seconds")) * lengths)
    for row in range(len(curves)):
        known = np.flatnonzero(~np.isnan(curves.median[row]))
        figures = (
            {names[place]: float(values[row, place]) for place in known}
            for values in (curves.least, curves.median, curves.greatest)
        )
        yield Row(int(curves.first[row]), int(curves.last[row]), float(seconds[row]), *figures)


def norms(row: Row, figure: str = "gradient") -> list[float]:
    """Return a statistic of all parameters for a histogram, without non-finite values."""
    found = (value for name, value in row.median.items() if name.startswith(f"{figure}/"))
    return [value for value in found if np.isfinite(value)]
