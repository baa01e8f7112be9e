"""Questions about each call of a line: a long loop makes thousands of them alike, and each answer may cost a walk."""

from __future__ import annotations

from collections.abc import Iterable

from ...snapshot import SourceLine
from .flow import Flow

_ENDS = 4


def few_of_each_line(flow: Flow, rows: Iterable[int], ends: int = _ENDS) -> list[int]:
    """Return the first and the last calls of each operator from each line, reached by the same calls of functions.

    Those between, of a long loop, are like them.  ``ends``: how many at either end.
    """
    alike: dict[tuple[str, tuple[SourceLine, ...]], list[int]] = {}
    for row in sorted(rows):
        alike.setdefault((flow.events[row].op, tuple(flow.lines(row))), []).append(row)
    return sorted({row for found in alike.values() for row in (*found[:ends], *found[-ends:])})
