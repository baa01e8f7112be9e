"""Optimizers whose parameters get gradients in pass after pass, while none of their steps ever uses one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ....graphs.graph import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...facts.runs import Run
from ...roles.trained import used_gradients
from ...text.spelling import receiver
from ...text.words import at, listed
from ...thresholds import HABIT
from .naming import optimizer_name


def never_stepped(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that takes no step, or one alone, too early or too late, that finds nothing."""
    if flow.error is not None:
        return  # it did not come to that
    ledger, taken = flow.ledger, used_gradients(flow)
    for optimizer in ledger.optimizers.values():
        if len(optimizer.steps) >= HABIT:
            continue
        leaves = [leaf for leaf in optimizer.leaves if leaf in flow.accumulated]
        runs = [run for run in flow.runs if run.accumulates and not flow.arrival_rows(run).keys().isdisjoint(leaves)]
        moved = any(ledger.fresh(step, leaf) for leaf in leaves for step in ledger.steps_of.get(leaf, ()))
        if (
            len(runs) >= HABIT
            and not moved
            and not any(leaf in taken or flow.ledger.moved_by_hand(leaf) for leaf in leaves)
        ):
            yield _case(flow, optimizer, leaves, runs)


def _case(flow: Flow, optimizer: Optimizer, leaves: list[int], runs: list[Run]) -> Case:
    """Return the case of one optimizer, at the step of another one that is taken in its place if there is one."""
    name, names = optimizer_name(flow, optimizer), listed(flow.name(leaf) for leaf in leaves)
    made, passes = optimizer.event.source, f"{len(runs):,} backward passes"
    instead = _step_instead(flow, optimizer, runs)
    gets = f"{passes}{at(runs[0].source)} bring gradients for {names}"
    if instead is not None:
        other = optimizer_name(flow, flow.ledger.optimizers[instead.event.data.get("owner")])
        message = f"{gets}, and what steps after them{at(instead.event.source)} is {other}, which has none of these: "
        message += f"{name}, made{at(made)}, never steps."
        return _finding(flow, leaves, name, message, f"{name}.step() there", instead.event.source)
    if optimizer.steps:
        step = optimizer.steps[0].event.source
        message = f"{gets}, and {name}.step(){at(step)} is called once and finds none of them: nothing ever moves."
        return _finding(flow, leaves, name, message, f"{name}.step() after each backward()", step)
    if (standing := _stands_at(flow, name, runs[0].source)) is not None:
        message = f"{gets}, but {name}.step(){at(standing)} is never reached: nothing ever moves them."
        remedy = f"take {name}.step() out of the condition around it, or see why that never comes true here"
        return replace(_finding(flow, leaves, "", message, remedy, standing), evidence={})
    message = f"{gets}, but {name}, made{at(made)}, never steps: nothing ever moves them."
    return _finding(flow, leaves, name, message, f"{name}.step() after backward()", runs[0].source)


def _stands_at(flow: Flow, optimizer: str, near: SourceLine | None) -> SourceLine | None:
    """Return the line of the same file that would step an optimizer."""
    for one in flow.spelling.kept_statements(near.file) if near is not None else ():
        if near is not None and receiver(ast.unparse(one.tree), "step") == optimizer:
            return near._replace(line=one.first)
    return None


def _finding(
    flow: Flow, leaves: list[int], optimizer: str, message: str, remedy: str, source: SourceLine | None
) -> Case:
    return Case(
        kind="optimizer-mismatch",
        message=message,
        remedy=remedy,
        source=source,
        op="step",
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "never_stepped": optimizer},
    )


def _step_instead(flow: Flow, optimizer: Optimizer, runs: list[Run]) -> Step | None:
    """Return a step of another optimizer that follows passes for this one's leaves alone, again and again."""
    found = []
    for run in runs:
        following = next((step for step in flow.ledger.steps if step.row > run.end), None)
        if following is not None and flow.arrival_rows(run).keys().isdisjoint(following.held):
            nobody_between = flow.run_after(run.begin)
            if nobody_between is None or nobody_between.begin > following.row:
                found.append(following)
    return found[0] if len(found) >= HABIT else None
