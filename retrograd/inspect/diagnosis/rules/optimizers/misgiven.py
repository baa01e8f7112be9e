"""Optimizers that were given another network than the one they step for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from itertools import groupby, permutations

from ....recording.events import Event
from ...base import Case
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.steps import steps_with_runs
from ...text.words import at, named
from .forgotten_networks import feeds


def misgiven(flow: Flow, missing: list[int]) -> Case | None:
    """Return the case of an optimizer whose steps follow losses of leaves that no optimizer holds."""
    if (idle := _idle(flow, set(missing))) is not None:
        return _idle_case(flow, missing, idle)
    pair = _doubled(flow, set(missing))
    return None if pair is None else _doubled_case(flow, missing, *pair)


def _idle(flow: Flow, missing: set[int]) -> int | None:
    """Return the event that made an optimizer whose steps follow only gradients of leaves that no optimizer holds."""
    idle: dict[object, bool] = {}
    for event, runs in steps_with_runs(flow):
        reached = {leaf for run in runs for leaf in flow.arrivals_in(run)}
        with_grad = reached | flow.ledger.given_by_hand  # set by hand as of master copies
        vain = bool(reached & missing) and with_grad.isdisjoint(held_by(event))
        idle[event.data.get("owner")] = vain and idle.get(event.data.get("owner"), True)
    made = flow.of_kind("optimizer", action="made")
    return next((row for row, event in made if idle.get(event.data.get("owner"))), None)


def _idle_case(flow: Flow, missing: list[int], made: int) -> Case:
    """Return the case of an optimizer that was given another network than the one it steps for."""
    optimizer = flow.events[made]
    names = named(flow, missing)
    held = optimizer.data.get("parameters", {}).values()
    message = (
        f"the optimizer made{at(optimizer.source)} steps after backward passes that reach none of what it holds "
        f"({named(flow, held)}): {names} get gradients there, and no optimizer has them."
    )
    remedy = f"give the optimizer the parameters that its loss depends on: {names}"
    return misgiven_case(flow, missing, optimizer, message, remedy, held)


def misgiven_case(
    flow: Flow, missing: list[int], optimizer: Event, message: str, remedy: str, idle: Collection[int] = ()
) -> Case:
    """Return the case of an optimizer that was given other tensors than its steps are meant for; ``idle``: those."""
    return Case(
        kind="optimizer-mismatch",
        message=message,
        remedy=remedy,
        source=optimizer.source,
        op=optimizer.data.get("type", ""),
        subjects=frozenset([*missing, *idle]),
        evidence={"missing": [flow.name(leaf) for leaf in missing], "stale": []},
    )


def _doubled(flow: Flow, missing: set[int]) -> tuple[int, int] | None:
    """Return the events that made two optimizers with the same tensors, one of which steps for unheld leaves.

    They take turns, only the steps of the first follow gradients for ``missing``, and those come through what both
    hold, as a generator's come through the critic: it was meant for them, and was given the other's.  What lies
    between the held tensors and the loss, as a critic that nobody trains, only judges them.
    """
    serves: dict[object, set[int]] = defaultdict(set)
    turns: list[object] = []
    for event, runs in steps_with_runs(flow):
        owner = event.data.get("owner")
        turns.append(owner)
        serves[owner].update(leaf for run in runs for leaf in flow.arrivals_in(run) if leaf in missing)
    for (row, event), (other, twin) in permutations(flow.of_kind("optimizer", action="made"), 2):
        mine, theirs = event.data.get("owner"), twin.data.get("owner")
        held = set(event.data["parameters"].values())
        alone = bool(serves[mine]) and theirs in turns and not serves[theirs]
        same = held == set(twin.data["parameters"].values())
        if alone and same and take_turns(turns, mine, theirs) and feeds(flow, serves[mine], held):
            return row, other
    return None


def take_turns(turns: list[object], one: object, other: object) -> bool:
    """Whether each of two optimizers steps again after the other has: they serve no phases that follow one another."""
    return len(list(groupby(owner for owner in turns if owner in (one, other)))) > 2


def _doubled_case(flow: Flow, missing: list[int], made: int, twin: int) -> Case:
    """Return the case of an optimizer that got another one's parameters."""
    optimizer, names = flow.events[made], named(flow, missing)
    message = (
        f"the optimizer made{at(optimizer.source)} was given the tensors that the one made"
        f"{at(flow.events[twin].source)} has; it steps after gradients for {names}, which no optimizer has."
    )
    return misgiven_case(
        flow, missing, optimizer, message, f"give the optimizer the parameters that its loss is to train: {names}"
    )
