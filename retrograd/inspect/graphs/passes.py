"""Median times of nodes over several backward passes of one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .graph import Graph

_MOST = 32
"""Number of latest passes that are used."""
_FEWEST = 3
"""Fewest passes for a median."""
Column = list[float | None]


class Times(NamedTuple):
    """Microseconds of each node in several passes."""

    passes: int
    median: Column
    low: Column
    """First quartile."""
    high: Column
    """Third quartile."""


def times_over_passes(snapshots: Sequence[Graph], number: int) -> Times | None:
    """Return the times of a graph's nodes over all passes of equal graphs, None if these are too few."""
    wanted = snapshots[number]
    alike = [one for one in snapshots if _is_equal(one, wanted) and "time_us" in one.measures]
    if len(alike) < _FEWEST:
        return None
    columns = [one.measures["time_us"] for one in alike[-_MOST:]]
    table = np.array([[np.nan if value is None else value for value in column] for column in columns], float)
    known = ~np.isnan(table).all(0)
    quartiles = np.full((3, table.shape[1]), np.nan)
    quartiles[:, known] = np.nanpercentile(table[:, known], (25, 50, 75), axis=0)
    low, median, high = ([None if np.isnan(value) else float(value) for value in row] for row in quartiles)
    return Times(len(columns), median, low, high)


def _is_equal(one: Graph, other: Graph) -> bool:
    """Whether two graphs have the same nodes, like the steps of a loop."""
    return one is other or (one.op == other.op and one.shape == other.shape and one.edge_target == other.edge_target)


def with_usual_times(snapshots: Sequence[Graph], number: int) -> tuple[Graph, str]:
    """Return a graph with median times over several passes, if there are enough, and a word for the label."""
    snapshot = snapshots[number]
    found = times_over_passes(snapshots, number) if snapshot.is_measured else None
    if found is None:
        return snapshot, ""
    timed = replace(snapshot, measures={**snapshot.measures, "time_us": found.median})
    return timed, f" · times are medians of {found.passes} passes"
