"""Descents that a loss is trained through: steps by gradients with a history, as the inner loop of meta learning."""

from __future__ import annotations

from collections.abc import Iterator

from ..recorded.flow import Flow
from ..recorded.runs import Run

_CALLS = 4
"""Calls from a gradient to the point that a step arrives at: it may be scaled, clipped and averaged on the way."""
Step = tuple[int, int]
"""Row of the call that made a point of a descent, and the point before."""


def descents(flow: Flow, run: Run) -> Iterator[list[int]]:
    """Yield, for each descent that a run goes back through, the calls that made its points, last first."""
    steps = _steps(flow, run)
    reached = flow.reached_by(run).calls
    for point in steps.keys() - {before for _, before in steps.values()}:
        rows: list[int] = []
        at: int | None = point
        while at is not None and at in steps:
            row, at = steps[at]
            rows.append(row)
        if reached.issuperset(rows):
            yield rows


def _steps(flow: Flow, run: Run) -> dict[int, Step]:
    """Return point -> the step to it, of all points at which a gradient with a history was asked for before a run."""
    found: dict[int, Step] = {}
    for asked in flow.runs:
        if asked.begin < run.begin and asked.began.get("create_graph") and not asked.accumulates:
            for point in asked.inputs:
                row = flow.last_producer(point, asked.begin, gradients=True)
                before = None if row is None else _point_before(flow, row)
                if row is not None and before is not None and before != point:
                    found[point] = row, before
    return found


def _point_before(flow: Flow, row: int) -> int | None:
    """Return the tensor whose gradient a call takes a step by."""
    level = [row]
    for _ in range(_CALLS):
        given = [(one, call) for call in level for one in flow.inputs(call)]
        made = [(one, flow.last_producer(one, call)) for one, call in given]
        taken = [(one, by) for one, by in made if by is not None and flow.events[by].op == "grad"]
        if taken:
            return _asked_for(flow, *taken[0])
        level = [by for _, by in made if by is not None]
    return None


def _asked_for(flow: Flow, gradient: int, row: int) -> int | None:
    """Return the tensor that a gradient is of, which ``autograd.grad`` returned among others."""
    data = flow.events[row].data
    return dict(zip(data.get("outputs", ()), data.get("inputs", ()), strict=False)).get(gradient)
