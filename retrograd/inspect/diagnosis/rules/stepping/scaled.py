"""Steps by gradients of a loss that was scaled up, and that nothing scaled down again."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step, last_before
from ...text.words import at, times
from ...thresholds import HABIT
from .naming import optimizer_name


def scaled(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that is stepped by itself, and never by the scaler of its loss."""
    calls = list(flow.of_kind("scaling"))
    scaling = [row for row, event in calls if not event.data.get("inputs")]  # of a loss, not of an optimizer
    served = {leaf for _, event in calls for leaf in event.data.get("inputs", ())}
    for optimizer in flow.ledger.optimizers.values() if scaling else ():
        if served.isdisjoint(optimizer.leaves):
            found = [(step, row) for step in optimizer.steps if (row := _scaled_for(flow, step, scaling)) is not None]
            if len(found) >= HABIT:
                yield _case(flow, optimizer, found)


def _scaled_for(flow: Flow, step: Step, scaling: list[int]) -> int | None:
    """Return the row at which the loss was scaled whose gradients a step uses."""
    arrivals = flow.ledger.fresh(step, next(iter(step.held), -1))
    run = flow.last_begun(arrivals[-1]) if arrivals else None
    if run is None:
        return None
    before = flow.last_begun(run.begin)
    row = last_before(scaling, run.begin)
    return row if row > (-1 if before is None else before.end) else None


def _case(flow: Flow, optimizer: Optimizer, found: list[tuple[Step, int]]) -> Case:
    """Return the case of one optimizer."""
    (step, row), name = found[0], optimizer_name(flow, optimizer)
    line = flow.events[row].source
    return Case(
        kind="scaled-gradient",
        message=f"{name}.step(){at(step.event.source)} uses gradients of a loss that was scaled up{at(line)}, "
        f"{times(len(found))}: nothing unscales them, so each update is as many times too large.",
        remedy=f"scaler.step({name}) and scaler.update() in place of {name}.step()",
        source=step.event.source,
        op="step",
        because=("the scaler neither unscales these gradients nor steps this optimizer",),
        evidence={"steps": len(found)},
    )
