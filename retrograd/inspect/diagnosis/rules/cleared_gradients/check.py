"""Gradients that are cleared before the optimizer uses them, so that no step of it ever finds one."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case, Check, Kind, Stage
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.ledger import last_before
from ...text.spelling import receiver
from ...text.words import at, listed, times
from ...thresholds import HABIT
from .lost_shares import lost_shares

KINDS = {
    "cleared-gradient": Kind(
        "gradients are cleared between `backward()` and the step that is to use them", "error", Stage.STATEMENT
    ),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer none of whose steps found a gradient, though gradients arrived for it."""
    steps: dict[object, list[int]] = {}
    for row in flow.optimizer_steps:
        steps.setdefault(flow.events[row].data.get("owner"), []).append(row)
    for rows in steps.values():
        held = set().union(*(held_by(flow.events[row]) for row in rows))
        leaves = sorted(held.intersection(flow.accumulated))
        if len(rows) >= HABIT and leaves and not _used_otherwise(flow, rows, held):
            missed = [_cleared_before(flow, leaves, row) for row in rows]
            cleared = [row for row in missed if row is not None]
            if len(cleared) >= HABIT and not any(_is_used(flow, leaf) for leaf in leaves):
                yield _case(flow, leaves, rows, cleared[0], step_first=missed[0] is None)
    yield from lost_shares(flow)


CHECK = Check("accumulation", KINDS, find)


def _used_otherwise(flow: Flow, steps: list[int], held: set[int]) -> bool:
    """Whether steps call closures, or the program reads or sets gradients itself."""
    looked_at = any(_is_looked_at(flow, leaf) for leaf in held) or not held.isdisjoint(flow.given_by_hand)
    return looked_at or any(flow.ledger.step_at[row].has_closure for row in steps)


def _is_looked_at(flow: Flow, leaf: int) -> bool:
    """Whether the program looks at a gradient elsewhere than where it clears it."""
    changes = ("grad-cleared", "grad-zeroed")
    clearing = {flow.events[row].source for one in changes for row in flow.leaf_events.get((leaf, one), ())}
    return any(flow.events[row].source not in clearing for row in flow.reads_of.get(leaf, ()))


def _is_used(flow: Flow, leaf: int) -> bool:
    """Whether a leaf has the gradient that arrived, zero or not, when a step of any optimizer begins that holds it."""
    for step in flow.ledger.steps_of[leaf]:
        arrived = last_before(flow.accumulated[leaf], step.row)
        if arrived > flow.ledger.cleared_at(leaf, step.row) and (step.finds(leaf) or not flow.ledger.brings(arrived)):
            return True
    return False


def _cleared_before(flow: Flow, leaves: list[int], step: int) -> int | None:
    """Return the row at which gradients were cleared that had arrived before a step, None where none had.

    Where nothing that was heard of cleared them, that is the step, which finds none.
    """
    arrived = [leaf for leaf in leaves if last_before(flow.accumulated[leaf], step) >= 0]
    return min((_gone_at(flow, leaf, step) for leaf in arrived), default=None)


def _gone_at(flow: Flow, leaf: int, step: int) -> int:
    """Return the row at which a gradient that had arrived before a step was cleared, or was found to be gone."""
    cleared, arrived = flow.ledger.cleared_at(leaf, step), last_before(flow.accumulated[leaf], step)
    found = flow.ledger.step_at[step].finds(leaf)
    return step if cleared < arrived and not found and flow.ledger.brings(arrived) else cleared


def _case(flow: Flow, leaves: list[int], steps: list[int], cleared: int, *, step_first: bool) -> Case:
    """Return the case of one optimizer; ``step_first``: its first step came before any gradient."""
    step, clearing = flow.events[steps[0]], flow.events[cleared]
    arrival = flow.events[flow.accumulated[leaves[0]][0]]
    run = next((run for run in flow.runs if run.number == arrival.data.get("run")), None)
    backward = run.source if run else arrival.source
    called = receiver(flow.spelling.text(step.source), "step") or "optimizer"
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    early = "the step comes before backward, and " if step_first else ""
    return Case(
        kind="cleared-gradient",
        message=f"{called}.step(){at(step.source)} never finds a gradient, {times(len(steps))}: {early}what "
        f"backward{at(backward)} put into {names} is cleared{at(clearing.source)} before the next step uses it.",
        remedy=f"in this order: {called}.zero_grad(), then backward(), then {called}.step()",
        source=step.source if step_first else clearing.source,
        op="step" if step_first else clearing.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": len(steps)},
    )
