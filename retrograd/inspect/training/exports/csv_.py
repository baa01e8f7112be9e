"""CSV: a row for each stretch of steps, with the medians of all statistics."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from ...histories.watched_file import WatchedRun
from ...writing import write_output


def run_csv(run: WatchedRun) -> Iterator[str]:
    """Yield the table line by line."""
    curves = run.curves
    names = [f"{column.figure}:{column.owner}" if column.owner else column.figure for column in curves.columns]
    yield _line(["first step", "last step", *names])
    for row in range(len(curves)):
        figures = ("" if math.isnan(value) else repr(float(value)) for value in curves.median[row])
        yield _line([str(int(curves.first[row])), str(int(curves.last[row])), *figures])


def _line(cells: list[str]) -> str:
    """Return one row, cells quoted where they must be."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(cells)
    return written.getvalue()


class CsvExport:
    """Writes one file."""

    name = "csv"
    suffixes = (".csv",)

    def write(self, run: WatchedRun, path: str) -> None:
        """Write the table."""
        write_output(run_csv(run), path)


EXPORT = CsvExport()
