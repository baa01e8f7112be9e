"""Parameters that were frozen and that steps go on moving, by a gradient that is still there."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...text.words import at, listed, times
from ...thresholds import HABIT
from .naming import optimizer_name


def moved_frozen(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that moves what was frozen before its step.

    A step leaves alone what has no ``.grad``; one of zeros, or of a pass before, is a gradient like others.
    """
    for optimizer in flow.ledger.optimizers.values():
        moved: dict[int, list[Step]] = {}
        for leaf in optimizer.leaves:
            steps = [step for step in optimizer.steps if _moves(flow, step, leaf)]
            if len(steps) >= HABIT:
                moved[leaf] = steps
        if moved:
            yield _case(flow, optimizer, moved)


def _moves(flow: Flow, step: Step, leaf: int) -> bool:
    """Whether a step moves a leaf that is frozen, by what is left in its ``.grad``."""
    if not step.told or leaf not in step.held or leaf in step.event.data.get("without", ()) or step.leaves_alone(leaf):
        return False
    return flow.switched_off(leaf, step.row) is not None and not flow.ledger.fresh(step, leaf)


def _case(flow: Flow, optimizer: Optimizer, moved: dict[int, list[Step]]) -> Case:
    """Return the case of one optimizer."""
    leaf, steps = next(iter(moved.items()))
    frozen, name = flow.frozen_at(leaf, steps[0].row), optimizer_name(flow, optimizer)
    zero = leaf in steps[0].event.data.get("zero", ())
    left = "a tensor of zeros, on which momentum and weight decay act" if zero else "the gradient of an earlier pass"
    names, one = listed(map(flow.name, moved)), len(moved) == 1
    return Case(
        kind="moved-while-frozen",
        message=f"{names} {'is' if one else 'are'} frozen (requires_grad switched off{at(frozen)}), but {name}.step()"
        f"{at(steps[0].event.source)} still moves {'it' if one else 'them'}, {times(len(steps))}: .grad is {left}.",
        remedy="set .grad = None where they are frozen (zero_grad(set_to_none=True) does), or take them out of the "
        "optimizer",
        source=frozen,
        op="requires_grad_",
        subjects=frozenset(moved),
        because=(f".grad is {left}", "their values differ after the step"),
        evidence={"leaves": [flow.name(one) for one in moved], "steps": len(steps)},
    )
