"""Losses that are divided by the number of batches of a step, whose gradients are cleared after each batch."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ....operators import Trait
from ...base import Case
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.ledger import last_before
from ...facts.runs import Run
from ...text.spelling import receiver
from ...text.words import at, times
from ...thresholds import HABIT


@dataclass(frozen=True, slots=True)
class _Loss:
    """What steps lose of the gradients of one leaf."""

    leaf: int
    shares: int
    """Backward runs before each step."""
    lost: int
    """Those whose gradients are cleared before the step."""
    cleared: int
    """The row at which the first ones were."""
    run: Run


def lost_shares(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that finds the last share of what its steps were to use, each time.

    One that steps less often than another does so on purpose, as that of a slow critic.
    """
    steps: dict[object, list[int]] = {}
    for row in flow.optimizer_steps:
        steps.setdefault(flow.events[row].data.get("owner"), []).append(row)
    most = max(map(len, steps.values()), default=0)
    for rows in steps.values():
        held = set().union(*(held_by(flow.events[row]) for row in rows)).intersection(flow.accumulated)
        lost = _lost(flow, min(held), rows) if held and len(rows) == most >= HABIT else None
        if lost is not None and _is_divided(flow, lost.run, lost.shares):
            yield _case(flow, lost, rows[0])


def _lost(flow: Flow, leaf: int, steps: list[int]) -> _Loss | None:
    """Return what steps lose of a leaf's gradients if it is as much each time, and nothing else looks at them."""
    arrivals = flow.accumulated[leaf]
    found = set()
    for before, step in pairwise([-1, *steps]):
        between = arrivals[bisect_left(arrivals, before) : bisect_left(arrivals, step)]
        kept = sum(row > flow.ledger.cleared_at(leaf, step) for row in between)
        found.add((len(between), len(between) - kept))
    shares, lost = found.pop()
    runs = [run for run in flow.runs if leaf in flow.arrival_rows(run)]
    one_line = len({run.source for run in runs}) == 1
    if found or not 0 < lost < shares or flow.reads_of.get(leaf) or not one_line:
        return None
    cleared = flow.ledger.cleared_at(leaf, arrivals[lost])
    return _Loss(leaf, shares, lost, cleared, runs[0]) if last_before(arrivals, cleared) >= 0 else None


def _is_divided(flow: Flow, run: Run, shares: int) -> bool:
    """Whether a loss is divided by the number of shares on its way to what backward started from."""
    for row in flow.reached_by(run).calls:
        event = flow.events[row]
        given = event.data.get("arguments", {}).values()
        numbers = [one for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
        if flow.does(row, Trait.DIVISION) and shares in numbers:
            return True
        if flow.does(row, Trait.PRODUCT) and any(math.isclose(one * shares, 1.0) for one in numbers):
            return True
    return False


def _case(flow: Flow, lost: _Loss, step: int) -> Case:
    """Return the case of one optimizer."""
    stepped, clearing = flow.events[step], flow.events[lost.cleared]
    called = receiver(flow.spelling.text(stepped.source), "step") or "optimizer"
    return Case(
        kind="cleared-gradient",
        message=f"each {called}.step(){at(stepped.source)} follows {lost.shares} backward calls{at(lost.run.source)}, "
        f"whose loss is divided by {lost.shares}, but finds {lost.shares - lost.lost} of them: the gradients are "
        f"cleared{at(clearing.source)} {times(lost.lost)} before it.",
        remedy=f"clear them after the step alone: {called}.zero_grad() under the condition that {called}.step() has",
        source=clearing.source,
        op=clearing.op,
        subjects=frozenset({lost.leaf}),
        evidence={"backward_calls": lost.shares, "cleared": lost.lost},
    )
