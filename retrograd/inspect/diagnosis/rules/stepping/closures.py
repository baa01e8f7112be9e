"""Closures of optimizers that clear the gradients they computed, or leave the old ones in place."""

from __future__ import annotations

from collections.abc import Iterator

from ....program.places import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Step
from ...text.words import at, counted, listed


def closures(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that steps with a closure after which nothing, or too much, is in ``.grad``."""
    reported: set[SourceLine | None] = set()
    for step in flow.ledger.steps:
        if step.calls and step.event.source not in reported:
            case = _cleared(flow, step) or _kept(flow, step)
            if case is not None:
                reported.add(step.event.source)
                yield case


def _segments(step: Step) -> Iterator[tuple[int, int, set[int]]]:
    """Yield for each call of a closure the range of its events, and which leaves it left without a gradient."""
    before = step.row
    for row, event in step.calls:
        yield before, row, {*event.data.get("without", ()), *event.data.get("zero", ())}
        before = row


def _cleared(flow: Flow, step: Step) -> Case | None:
    """Return the case of a closure that each time leaves nothing of the gradients that arrived in it."""
    lost: list[set[int]] = []
    for begin, end, empty in _segments(step):
        arrived = {leaf for leaf in step.held if any(map(flow.ledger.brings, flow.ledger.arrivals(leaf, begin, end)))}
        lost.append(arrived & empty)
        if not arrived or arrived - empty:
            return None
    leaves = sorted(set.intersection(*lost))
    if not leaves:
        return None
    clearing = flow.events[flow.ledger.cleared_at(leaves[0], step.calls[0][0])]
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    return Case(
        kind="cleared-gradient",
        message=f"the closure of the step{at(step.event.source)} computes gradients and clears them again"
        f"{at(clearing.source)}, before it returns: the optimizer finds nothing in {names}.",
        remedy="in the closure first zero_grad(), then the loss, then backward(), then return the loss",
        source=clearing.source,
        op=clearing.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(step.calls)},
    )


def _kept(flow: Flow, step: Step) -> Case | None:
    """Return the case of a closure whose later calls add their gradients to those of the calls before."""
    leaves, first = [], -1
    for leaf in step.held:
        for begin, end, _ in list(_segments(step))[1:]:
            arrivals = flow.ledger.arrivals(leaf, begin, end)
            if arrivals and flow.events[arrivals[0]].data.get("before") == "kept":
                leaves.append(leaf)
                first = arrivals[0]
                break
    if not leaves:
        return None
    run = next((run for run in flow.runs if run.begin < first <= run.end), None)
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    return Case(
        kind="missing-zero-grad",
        message=f"the step{at(step.event.source)} calls its closure {counted(len(step.calls), 'time')}, and each call "
        f"adds to what the one before left in {names}: nothing clears the gradients in it.",
        remedy="zero_grad() at the beginning of the closure",
        source=run.source if run else step.event.source,
        op="backward",
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(step.calls)},
    )
