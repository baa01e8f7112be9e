"""Steps that use, beside the gradients of their own loss, those that another optimizer's loss left on its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...facts.runs import Run
from ...facts.steps import taken_gradients
from ...text.words import at, listed
from ...thresholds import ASKED_OF_A_LINE, HABIT
from .naming import optimizer_name


class _Mixed(NamedTuple):
    """A step with the pass that was not meant for it, the pass that was, and whom or what the first was for."""

    step: Step
    foreign: Run
    own: Run
    purpose: str
    leaf: int


def other_turns(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose steps use two losses, of which one is there for something else."""
    runs = {row: run for run in flow.runs for rows in flow.arrival_rows(run).values() for row in rows}
    for optimizer in flow.ledger.optimizers.values():
        found: list[_Mixed] = []
        several = [step for step in optimizer.steps if _leaf_of_several(flow, step) is not None]
        for step in several[:ASKED_OF_A_LINE]:
            mixed = _mixed(flow, optimizer, step, runs)
            if mixed is not None:
                found.append(mixed)
                if len(found) == HABIT:
                    yield _case(flow, optimizer, found[0])
                    break


def _leaf_of_several(flow: Flow, step: Step) -> int | None:
    """Return the first leaf for which a step finds several gradients."""
    found = (leaf for leaf in step.held if len(flow.ledger.fresh(step, leaf)) > 1)
    return None if step.has_closure else next(found, None)


def _mixed(flow: Flow, optimizer: Optimizer, step: Step, runs: dict[int, Run]) -> _Mixed | None:
    """Return what a step mixes, looked for at the first leaf that it finds several gradients for."""
    leaf = _leaf_of_several(flow, step)
    if leaf is None:
        return None
    arrivals = [runs[row] for row in flow.ledger.fresh(step, leaf) if row in runs]
    own = arrivals[-1]
    for foreign in arrivals[:-1]:
        other = None if foreign.source == own.source else _meant_for(flow, optimizer, foreign, own)
        if other is not None:
            return _Mixed(step, foreign, own, f"that pass is there for {optimizer_name(flow, other)}", leaf)
        searched = None if foreign.source == own.source else _searched(flow, foreign, own)
        if searched is not None:
            used = f"{flow.name(searched)}.grad, which is used"
            return _Mixed(
                step, foreign, own, f"that pass is there for {used}{at(own.source)} to compute the loss", leaf
            )
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


def _searched(flow: Flow, foreign: Run, own: Run) -> int | None:
    """Return the leaf of no optimizer that the first of two passes gives a gradient which the second's loss is made of.

    As the input of an attack, or of a map of what a network looks at.
    """
    leaves, behind = flow.arrival_rows(foreign).keys() - flow.optimized.keys(), flow.values_behind(own).calls
    between = (one for one in taken_gradients(flow) if foreign.end < one.row < own.begin)
    return next((one.leaf for one in between if one.leaf in leaves and one.row in behind), None)


def _case(flow: Flow, optimizer: Optimizer, mixed: _Mixed) -> Case:
    """Return the case of one optimizer."""
    name = optimizer_name(flow, optimizer)
    leaves = [leaf for leaf in optimizer.leaves if leaf in flow.arrival_rows(mixed.foreign)]
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    first, second = flow.root_name(mixed.foreign), flow.root_name(mixed.own)
    return Case(
        kind="missing-zero-grad",
        message=f"{name}.step(){at(mixed.step.event.source)} uses the gradient of {second}{at(mixed.own.source)} and, "
        f"added to it, what the backward of {first}{at(mixed.foreign.source)} left in {names}: {mixed.purpose}, and "
        "nothing clears them in between.",
        remedy=f"{name}.zero_grad() before {second}.backward(){at(mixed.own.source)}, or requires_grad_(False) for its "
        f"parameters while {first} is computed",
        source=mixed.foreign.source,
        op="backward",
        subjects=frozenset(leaves),
        evidence={
            "leaves": [flow.name(leaf) for leaf in leaves],
            "optimizer": name,
            "before": mixed.own.source.line if mixed.own.source else 0,
        },
    )
