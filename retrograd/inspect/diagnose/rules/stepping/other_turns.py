"""Steps that use, beside the gradients of their own loss, those that another optimizer's loss left on its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...facts.runs import Run
from ...text.words import at, listed
from ...thresholds import HABIT
from .naming import optimizer_name


class _Mixed(NamedTuple):
    """A step with the pass that was not meant for it, the pass that was, and the optimizer that the first was for."""

    step: Step
    foreign: Run
    own: Run
    other: Optimizer
    leaf: int


def other_turns(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose steps use two losses, of which one is there for another optimizer."""
    if len(flow.ledger.optimizers) < 2:
        return
    runs = {row: run for run in flow.runs for rows in flow.arrival_rows(run).values() for row in rows}
    for optimizer in flow.ledger.optimizers.values():
        found: list[_Mixed] = []
        for step in optimizer.steps:
            mixed = _mixed(flow, optimizer, step, runs)
            if mixed is not None:
                found.append(mixed)
                if len(found) == HABIT:
                    yield _case(flow, optimizer, found[0])
                    break


def _mixed(flow: Flow, optimizer: Optimizer, step: Step, runs: dict[int, Run]) -> _Mixed | None:
    """Return what a step mixes, looked for at the first leaf that it finds several gradients for."""
    leaf = next((leaf for leaf in step.held if len(flow.ledger.fresh(step, leaf)) > 1), None)
    if leaf is None or step.has_closure:
        return None
    arrivals = [runs[row] for row in flow.ledger.fresh(step, leaf) if row in runs]
    own = arrivals[-1]
    for foreign in arrivals[:-1]:
        other = None if foreign.source == own.source else _meant_for(flow, optimizer, foreign, own)
        if other is not None:
            return _Mixed(step, foreign, own, other, leaf)
    return None


def _meant_for(flow: Flow, optimizer: Optimizer, foreign: Run, own: Run) -> Optimizer | None:
    """Return the optimizer that the first of two passes is there for, and the second is not.

    It steps between the two, or what it has feeds the second loss by values that were detached.
    """
    reached, later = flow.arrival_rows(foreign).keys(), flow.arrival_rows(own).keys()
    for other in flow.ledger.optimizers.values():
        leaves = other.leaves.keys() & reached
        if not leaves or not other.leaves.keys().isdisjoint(later | optimizer.leaves.keys()):
            continue
        if any(foreign.end < step.row < own.begin for step in other.steps):
            return other
        if leaves & flow.behind(own.roots, own.begin, gradients=False).tensors:
            return other
    return None


def _case(flow: Flow, optimizer: Optimizer, mixed: _Mixed) -> Case:
    """Return the case of one optimizer."""
    name, other = optimizer_name(flow, optimizer), optimizer_name(flow, mixed.other)
    leaves = [leaf for leaf in optimizer.leaves if leaf in flow.arrival_rows(mixed.foreign)]
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    first, second = flow.root_name(mixed.foreign), flow.root_name(mixed.own)
    return Case(
        kind="missing-zero-grad",
        message=f"{name}.step(){at(mixed.step.event.source)} uses two gradients added up: that of {second}"
        f"{at(mixed.own.source)}, and what the backward of {first}{at(mixed.foreign.source)}, which {other} steps for, "
        f"left in {names} on its way; nothing clears them in between.",
        remedy=f"{name}.zero_grad() before {second}.backward(), or requires_grad_(False) for its parameters while "
        f"{first} is computed",
        source=mixed.foreign.source,
        op="backward",
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves]},
    )
