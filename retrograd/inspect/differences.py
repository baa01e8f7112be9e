"""``diff``: the differences of two graphs, two runs, or any number of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ..errors import UsageError
from .events import Recording
from .graph_diff import TOLERANCE, GraphDiff, diff_graphs
from .lineup.lineup import Lineup, line_up, of_a_job
from .snapshot import Graph


@overload
def diff(first: Graph, second: Graph, *, tolerance: float = ...) -> GraphDiff: ...
@overload
def diff(
    first: Any, second: Any = ..., *, tolerance: float = ..., names: Sequence[str] | None = ...
) -> Lineup | GraphDiff: ...


def diff(
    first: Any, second: Any = None, *, tolerance: float = TOLERANCE, names: Sequence[str] | None = None
) -> Lineup | GraphDiff:
    """Return what differs: a ``GraphDiff`` of two snapshots, or a ``Lineup`` of recordings (or ``rg.debug()`` traces).

    ``diff(a, b)`` takes two of them, ``diff([a, b, c])`` any number of recordings; ``names`` says what to call
    these.  Figures count from a relative difference of ``tolerance`` on.  The result is true if something differs.

    One recording alone is taken if it is that of a rank, and explained as far as it goes: the others may be lost.
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
    """Return what to call a recording: its rank if it has one."""
    return f"run {number}" if recording.rank is None else f"rank {recording.rank}"
