"""Steps of optimizers, each with the backward runs that it is for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ...events import Event
from .flow import Flow
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
    """Yield the steps of all optimizers, and the backward runs for each: those since the step before.

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
