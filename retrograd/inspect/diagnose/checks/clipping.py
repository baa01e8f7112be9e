"""Gradients that are clipped before there are any, or after the step that used them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...snapshot import SourceLine
from ..base import Case, Check, Kind, Stage
from ..recorded.flow import Flow
from ..recorded.ledger import last_before
from ..statements.spelling import receiver
from ..words import at, listed, times

KINDS = {
    "unclipped-gradient": Kind(
        "gradients are clipped before `backward()` or after the step, so never those that a step uses",
        "error",
        Stage.STATEMENT,
    ),
}
_CALLS = 2
"""Calls that must have clipped nothing: one alone may have come before a loop."""

_BEYOND = 1e3
"""A bound so many times larger than any gradient is none."""


@dataclass(slots=True)
class _Clipped:
    """The calls from one line."""

    rows: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    """Those of what it clips that get gradients and are stepped."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that clips in vain, each time, what nothing else clips in time."""
    lines: dict[SourceLine | None, _Clipped] = {}
    clipped: set[int] = set()
    for row, event in flow.of_kind("clip"):
        leaves = [leaf for leaf in event.data.get("inputs", ()) if leaf in flow.accumulated]
        found = lines.setdefault(event.source, _Clipped())
        found.rows.append(row)
        found.leaves += [leaf for leaf in leaves if leaf not in found.leaves]
        if _only_measures(flow, leaves, event.data.get("bound")) or any(
            _is_waiting(flow, leaf, row) for leaf in leaves
        ):
            clipped.update(leaves)
    for source, found in lines.items():
        stepped = [leaf for leaf in found.leaves if flow.leaf_events.get((leaf, "step"))]
        if len(found.rows) >= _CALLS and stepped and clipped.isdisjoint(found.leaves):
            yield _case(flow, source, found, stepped)


CHECK = Check("accumulation", KINDS, find)


def _only_measures(flow: Flow, leaves: list[int], bound: object) -> bool:
    """Whether a bound lets everything pass, as of who wants the norm alone."""
    if not isinstance(bound, int | float) or not math.isfinite(bound):
        return True
    return bound > _BEYOND * max((flow.largest_norm[leaf] for leaf in leaves), default=0.0)


def _is_none(flow: Flow, leaf: int, row: int) -> bool:
    """Whether a leaf had no gradient: what ``backward`` put there last had been cleared."""
    return last_before(flow.accumulated[leaf], row) <= flow.ledger.cleared_at(leaf, row)


def _is_waiting(flow: Flow, leaf: int, row: int) -> bool:
    """Whether a leaf may have a gradient that a step is yet to use, or that the next ``backward`` adds to.

    What the program sets by itself may be anything.
    """
    if leaf in flow.given_by_hand:
        return True
    arrivals, steps = flow.accumulated[leaf], flow.leaf_events.get((leaf, "step"), [])
    if not _is_none(flow, leaf, row) and last_before(steps, row) < last_before(arrivals, row):
        return True
    following = bisect_right(arrivals, row)
    return following < len(arrivals) and flow.events[arrivals[following]].data.get("before") == "kept"


def _case(flow: Flow, source: SourceLine | None, found: _Clipped, leaves: list[int]) -> Case:
    """Return the case of one line."""
    event = flow.events[found.rows[0]]
    step = flow.events[flow.leaf_events[leaves[0], "step"][0]]
    run = next((run for run in flow.runs if leaves[0] in flow.arrival_rows(run)), None)
    stepping = f"{receiver(flow.spelling.text(step.source), 'step') or 'optimizer'}.step()"
    why = f"each comes after {stepping}{at(step.source)} has used them"
    if found.rows[0] < flow.accumulated[leaves[0]][0]:
        why = f"each comes before backward{at(run.source) if run else ''} gives any"
    return Case(
        kind="unclipped-gradient",
        message=f"{event.op}{at(source)} clips nothing that a step uses, {times(len(found.rows))}: {why}, so the "
        f"gradients of {listed(flow.name(leaf) for leaf in leaves)} are never clipped.",
        remedy=f"in this order: backward(), then {event.op}(...), then {stepping}",
        source=source,
        op=event.op,
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(found.rows)},
    )
