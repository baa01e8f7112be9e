"""Steps of optimizers with the backward passes that they are for, and gradients that later computations take."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ...recording.events import Event
from ..thresholds import BEYOND
from .answers import answered_once
from .flow import Flow
from .row_table import last_before
from .runs import Run


def optimizers_served(flow: Flow) -> dict[int, int]:
    """Return leaf -> row that made the first optimizer whose step follows a gradient for that leaf."""
    made = {event.data.get("owner"): row for row, event in flow.of_kind("optimizer", action="made")}
    found: dict[int, int] = {}
    for event, runs in steps_with_runs(flow):
        for leaf in set().union(*map(flow.arrivals_in, runs)) if event.data.get("owner") in made else ():
            found.setdefault(leaf, made[event.data.get("owner")])
    return found


def steps_with_runs(flow: Flow) -> Iterator[tuple[Event, list[Run]]]:
    """Yield the steps of all optimizers, with the backward passes for each: those since the previous step.

    Where the first step comes before any run, steps call closures, and the runs come after their step.
    """
    steps = flow.optimizer_steps
    runs = [run for run in flow.runs if run.accumulates]
    bounds = [bisect_left(runs, row, key=lambda run: run.begin) for row in steps]
    begins, ends = [0, *bounds], bounds
    if bounds and bounds[0] == 0:
        begins, ends = bounds, [*bounds[1:], len(runs)]
    for step, begin, end in zip(steps, begins, ends, strict=False):
        yield flow.events[step], runs[begin:end]


def is_stepped_for(flow: Flow, run: Run, leaf: int) -> bool:
    """Whether an optimizer that holds a leaf is among those that step next after a run, before another one begins."""
    steps = flow.optimizer_steps
    place = bisect_right(steps, run.end)
    following = flow.run_after(steps[place]) if place < len(steps) else None
    end = len(flow.events) if following is None else following.begin
    return any(leaf in flow.ledger.step_at[row].held for row in steps[place : bisect_left(steps, end)])


@answered_once
def _ends(flow: Flow) -> list[int]:
    """Return the rows at which runs ended, in order."""
    return sorted(run.end for run in flow.runs)


def ended_before(flow: Flow, row: int) -> int:
    """Return the row at which a run had ended last before another row, -1 for none."""
    return last_before(_ends(flow), row)


def clips(flow: Flow, event: Event) -> bool:
    """Whether a call bounds gradients; one whose bound is far above them, or infinite, only measures their norm."""
    bound = event.data.get("bound")
    if not isinstance(bound, int | float) or not math.isfinite(bound):
        return False
    largest = max((flow.largest_norm[leaf] for leaf in event.data.get("inputs", ())), default=0.0)
    return bound <= BEYOND * largest


def cuts_between(flow: Flow, after: int, before: int) -> list[int]:
    """Return the rows of cuts between two others."""
    rows = flow.rows.get("cut", [])
    return rows[bisect_right(rows, after) : bisect_left(rows, before)]


@dataclass(frozen=True, slots=True)
class TakenGradient:
    """One operand of a call, spelled ``leaf.grad``."""

    leaf: int
    gradient: int
    row: int
    """The call that takes it."""
    made: Run
    """The last run in which a gradient arrived."""


@answered_once
def taken_gradients(flow: Flow) -> list[TakenGradient]:
    """Return each gradient that a call reads by that name, in order of the calls; not the update of its own leaf."""
    accumulating = sorted((run for run in flow.runs if run.accumulates), key=lambda run: run.end)
    ends = [run.end for run in accumulating]
    called: dict[int, dict[str, list[int]]] = {}
    found: list[TakenGradient] = []
    for row, event in enumerate(flow.events):
        if event.kind not in ("operation", "cut"):
            continue
        for given, text in zip(event.data.get("inputs", ()), event.data.get("names", ()), strict=False):
            if not text.endswith(".grad") or flow.made_in.get(given):
                continue
            ended = bisect_left(ends, row)
            if not ended:
                continue
            made = accumulating[ended - 1]
            if made.number not in called:
                called[made.number] = _called(flow, made)
            leaves = called[made.number].get(text.removesuffix(".grad"), [])
            if len(leaves) == 1 and leaves[0] not in event.data["inputs"]:
                found.append(TakenGradient(leaves[0], given, row, made))
    return found


def _called(flow: Flow, run: Run) -> dict[str, list[int]]:
    """Return name -> the leaves that go by it, of those that got a gradient in a run."""
    found: dict[str, list[int]] = {}
    for leaf in flow.arrival_rows(run):
        for name in flow.spelling.names(leaf):
            found.setdefault(name, []).append(leaf)
    return found
