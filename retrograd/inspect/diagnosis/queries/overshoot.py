"""Steps that go too far: weights move so much that the loss rises out of all bounds, or is not finite after one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...program.places import SourceLine
from ..facts.call_inputs import limits_of
from ..facts.flow import Flow
from ..facts.ledger import Step
from ..facts.runs import Run
from ..thresholds import GROWING, GROWN, RISES


@dataclass(frozen=True, slots=True)
class Overshoot:
    """Evidence that a weight is moved too far."""

    row: int
    """The last update before what is computed with the weight has grown."""
    step: Step | None
    """The same, if it is one of an optimizer."""
    leaf: int
    """The first such weight on the path from the data."""
    call: int
    """The call that takes it."""
    before: float
    after: float
    """The largest entry of the call's results, in the pass before the updates and in the one after them."""
    losses: tuple[float, ...]
    """The loss in each of the passes from the one to the other."""
    data: float
    """The largest entry of what the call takes beside its weights, where that is data: gradients are as large."""


def overshoots(flow: Flow) -> Iterator[tuple[Run, Overshoot]]:
    """Yield, for each line of backward passes whose loss grows out of all bounds, the pass that shows it, and why."""
    for runs in _by_line(flow).values():
        losses = [_loss(flow, run) for run in runs]
        stretch = _rise(losses)
        if stretch is not None:
            first, last, share = stretch
            found = _overshoot(flow, runs[first], runs[last], share, tuple(losses[first : last + 1]))
            if found is not None and _is_ordinary(flow, runs[first:last], found):
                yield runs[last], found


def _by_line(flow: Flow) -> dict[SourceLine | None, list[Run]]:
    """Return the passes that fill ``.grad``, by their line."""
    found: dict[SourceLine | None, list[Run]] = defaultdict(list)
    for run in flow.runs:
        if run.accumulates and not run.nested and len(run.roots) == 1:
            found[run.source].append(run)
    return found


def _loss(flow: Flow, run: Run) -> float:
    """Return the loss that a pass starts from, infinity for one that is not finite, NaN if unknown."""
    limits = limits_of(flow, run.roots[0], run.begin)
    if limits is None:
        return math.nan
    return math.inf if _size(limits) == math.inf else float(limits[1])


def _size(limits: list[float | None]) -> float:
    """Return the largest absolute value between limits, infinity where one is not finite."""
    return max(math.inf if end is None or not math.isfinite(end) else abs(end) for end in limits)


def _rise(losses: list[float]) -> tuple[int, int, float] | None:
    """Return the passes between which a loss grows for good, and by how much the work of a weight must have grown.

    A loss that comes down again below what it was at first has done no harm.
    """
    peak = max(range(len(losses)), key=lambda place: (losses[place] == losses[place], losses[place]), default=0)
    first = peak
    while first and losses[first - 1] < losses[first]:
        first -= 1
    stretch = losses[first : peak + 1]
    if len(stretch) < 2 or not losses[peak] > GROWN * max(stretch[0], 1.0) or min(losses[peak:]) <= stretch[0]:
        return None
    if math.isinf(losses[peak]) and len(stretch) == 2:
        return first, peak, GROWN
    sudden = any(after > GROWN * max(before, 1.0) for before, after in pairwise(stretch))
    return (first, peak, GROWING) if sudden or len(stretch) > RISES else None


def _overshoot(flow: Flow, first: Run, last: Run, share: float, losses: tuple[float, ...]) -> Overshoot | None:
    """Return the first call, from the data on, that makes far more of it by a weight that was moved in between."""
    before: dict[tuple[SourceLine | None, str], float] = defaultdict(float)
    for row in flow.values_behind(first).calls:
        place = flow.events[row].source, flow.events[row].op
        before[place] = max(before[place], _result(flow, row))
    grown = set[int]()
    for row in sorted(row for row in flow.values_behind(last).calls if row > first.end):
        now, then = _result(flow, row), before[flow.events[row].source, flow.events[row].op]
        if not (0 < then < math.inf and now > share * then):
            continue
        moved = None if grown.intersection(flow.inputs(row)) else _moved(flow, row, first.end)
        if moved is not None:
            return Overshoot(*moved, row, then, now, losses, _data(flow, row))
        grown.update(flow.outputs(row))
    return None


def _data(flow: Flow, row: int) -> float:
    """Return the largest entry of a call's inputs without history that require none, 0 if there is none."""
    data = [one for one in flow.inputs(row) if not flow.has_history(one, row) and not flow.requires_grad(one)]
    return max((_size(limits) for one in data if (limits := limits_of(flow, one, row))), default=0.0)


def _result(flow: Flow, row: int) -> float:
    """Return the size of a call's result, 0 if unknown."""
    return max((_size(limits) for limits in flow.events[row].data.get("range", ()) if limits), default=0.0)


def _moved(flow: Flow, row: int, after: int) -> tuple[int, Step | None, int] | None:
    """Return the last update, since a row, of a weight that a call takes; and the weight."""
    trained = flow.trainable(flow.inputs(row))
    for leaf in (one for one in flow.inputs(row) if one in trained):
        for step in reversed(flow.ledger.steps_of.get(leaf, ())):
            if after < step.row < row and not step.leaves_alone(leaf):
                return step.row, step, leaf
        written = [write for write in flow.writes_into(leaf) if after < write < row]
        if written and leaf in flow.accumulated:
            return written[-1], None, leaf
    return None


def _is_ordinary(flow: Flow, runs: list[Run], found: Overshoot) -> bool:
    """Whether gradients are of the usual size, so that it is the rate that is not; some steps divide by their size.

    By a gradient that is not finite every step goes too far, whatever its rate.
    """
    norms = [norm for run in runs for norm in flow.norms_in(run).get(found.leaf) or [None]]
    if any(norm is not None and not math.isfinite(norm) for norm in norms):
        return False
    if found.step is not None and found.step.setting(found.leaf, "betas") is not None:
        return True
    size = math.sqrt(max(math.prod(flow.facts(found.leaf).shape), 1))
    norm = next(iter((flow.norms_in(runs[0]).get(found.leaf) or [None])[-1:]), None)
    return norm is not None and norm / size < GROWN * max(found.data, 1.0) ** 2
