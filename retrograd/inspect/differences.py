"""``diff``: the differences of two graphs, two runs, or any number of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ..errors import UsageError
from .graphs.graph import Graph
from .graphs.graph_diff import TOLERANCE, GraphDiff, diff_graphs
from .lineup.lineup import Lineup, line_up, of_a_job
from .recording.events import Recording


@overload
def diff(first: Graph, second: Graph, *, tolerance: float = ...) -> GraphDiff: ...
@overload
def diff(
    first: Any, second: Any = ..., *, tolerance: float = ..., names: Sequence[str] | None = ...
) -> Lineup | GraphDiff: ...


def diff(
    first: Any, second: Any = None, *, tolerance: float = TOLERANCE, names: Sequence[str] | None = None
) -> Lineup | GraphDiff:
    """Return the differences of two graphs as a ``GraphDiff``, of recordings or ``debug`` traces as a ``Lineup``.

    ``diff(a, b)`` compares two; ``diff([a, b, c])`` compares any number of recordings, named by ``names`` in the
    report. Numbers differ if their relative difference is at least ``tolerance``. The result is true if something
    differs.

    A single recording is accepted if it is one of a rank: its collectives are explained as far as one rank shows them.
    Raises ``UsageError`` for anything else::

        if rg.inspect.diff(rg.inspect.load("before.json"), rg.inspect.load("after.json")):
            print("the runs differ")
    """
    things = list(first) if second is None and isinstance(first, (list, tuple)) else [first, second]
    things = [getattr(thing, "recording", thing) for thing in things]
    if len(things) == 2 and all(isinstance(thing, Graph) for thing in things):
        return diff_graphs(things[0], things[1], tolerance)
    recordings = all(isinstance(thing, Recording) for thing in things)
    if not recordings or (len(things) < 2 and not any(map(of_a_job, things))):
        kinds = ", ".join(type(thing).__name__ for thing in things) or "nothing"
        raise UsageError(f"There is nothing to compare in {kinds}.", "Give two graphs, or two or more recordings.")
    return line_up(things, names or [name_of(thing, number) for number, thing in enumerate(things)], tolerance)


def name_of(recording: Recording, number: int) -> str:
    """Return the name of a recording in a comparison: its rank if it has one."""
    return f"run {number}" if recording.rank is None else f"rank {recording.rank}"
