"""Gradients that are cleared before the optimizer uses them, so that no step of it ever finds one."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check, Kind, Stage
from ..facts.answers import answered_once
from ..facts.call_inputs import limits_of
from ..facts.flow import Flow
from ..facts.ledger import Optimizer, made_of
from ..facts.optimizers import optimizer_name
from ..facts.row_table import first_between, last_before
from ..facts.runs import Run
from ..text.words import at, listed, named, times
from ..thresholds import HABIT

KINDS = {
    "cleared-gradient": Kind(
        "gradients are cleared between `backward()` and the step that is to use them", "error", Stage.STATEMENT
    ),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer none of whose steps found a gradient, though gradients arrived for it."""
    for optimizer in flow.ledger.optimizers.values():
        leaves = sorted(flow.accumulated.keys() & optimizer.leaves.keys())
        if len(optimizer.steps) >= HABIT and leaves and not _used_otherwise(flow, optimizer):
            missed = [_cleared_before(flow, leaves, step.row) for step in optimizer.steps]
            cleared = [row for row in missed if row is not None]
            if len(cleared) >= HABIT and not any(_is_used(flow, leaf) for leaf in leaves):
                yield _case(flow, leaves, optimizer, cleared[0], step_first=missed[0] is None)
    yield from _lost_shares(flow)
    yield from _assigned_again(flow)
    if not flow.optimizer_steps:
        yield from _looked_for(flow)


CHECK = Check("accumulation", KINDS, find)


def _used_otherwise(flow: Flow, optimizer: Optimizer) -> bool:
    """Whether steps call closures, or the program reads or sets gradients itself."""
    by_hand = not flow.ledger.given_by_hand.isdisjoint(optimizer.leaves)
    looked_at = by_hand or any(_is_looked_at(flow, leaf) for leaf in optimizer.leaves)
    return looked_at or any(step.has_closure for step in optimizer.steps)


def _is_looked_at(flow: Flow, leaf: int) -> bool:
    """Whether the program reads a gradient other than where it clears it."""
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
    """Return the event at which gradients that had arrived before a step were cleared, None if none had arrived.

    If no recorded event cleared them, that is the step, which finds none.
    """
    arrived = [leaf for leaf in leaves if last_before(flow.accumulated[leaf], step) >= 0]
    return min((_gone_at(flow, leaf, step) for leaf in arrived), default=None)


def _gone_at(flow: Flow, leaf: int, step: int) -> int:
    """Return the row at which a gradient that had arrived before a step was cleared, or was found to be gone."""
    cleared, arrived = flow.ledger.cleared_at(leaf, step), last_before(flow.accumulated[leaf], step)
    found = flow.ledger.step_at[step].finds(leaf)
    return step if cleared < arrived and not found and flow.ledger.brings(arrived) else cleared


def _case(flow: Flow, leaves: list[int], optimizer: Optimizer, cleared: int, *, step_first: bool) -> Case:
    """Return the case of one optimizer; ``step_first``: its first step came before any gradient."""
    step, clearing = optimizer.steps[0].event, flow.events[cleared]
    arrival = flow.events[flow.accumulated[leaves[0]][0]]
    run = next((run for run in flow.runs if run.number == arrival.data.get("run")), None)
    backward = run.source if run else arrival.source
    called, steps = optimizer_name(flow, optimizer), len(optimizer.steps)
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    early = "the step comes before backward, and " if step_first else ""
    return Case(
        kind="cleared-gradient",
        message=f"{called}.step(){at(step.source)} never finds a gradient, {times(steps)}: {early}what "
        f"backward{at(backward)} put into {names} is cleared{at(clearing.source)} before the next step uses it.",
        remedy=f"in this order: {called}.zero_grad(), then backward(), then {called}.step()",
        source=step.source if step_first else clearing.source,
        op="step" if step_first else clearing.op,
        subjects=frozenset(leaves),
        evidence={
            "leaves": [flow.name(leaf) for leaf in leaves],
            "steps": steps,
            "step_line": step.source.line if step.source else 0,
        },
    )


# -- steps by hand, which look for a gradient once it is cleared


def _looked_for(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that clears gradients unused, in every pass, before manual steps read them."""
    lines: dict[SourceLine | None, dict[int, list[int]]] = {}
    for leaf, arrivals in flow.accumulated.items():
        if len(arrivals) >= HABIT and leaf not in flow.ledger.given_by_hand and leaf not in flow.ledger.changed:
            looks = _looks_behind_clearing(flow, leaf, arrivals)
            if looks and len({flow.events[row].source for row in (*arrivals, *looks)}) <= 2:  # both of a loop
                source = flow.events[flow.ledger.cleared_at(leaf, looks[0])].source
                lines.setdefault(source, {})[leaf] = looks
    for looks_of in lines.values():
        yield _looked_for_case(flow, looks_of)


def _looks_behind_clearing(flow: Flow, leaf: int, arrivals: list[int]) -> list[int]:
    """Return where each gradient that arrived is read after it was cleared unused, nothing if one is not.

    The leaf has not moved until then.
    """
    found: list[int] = []
    looks = sorted([*flow.reads_of.get(leaf, ()), *_steps_of_nothing(flow, leaf)])
    uses = sorted([*_takers(flow, leaf), *flow.writes_into(leaf)]) if looks else []
    for arrived, following in pairwise([*arrivals, len(flow.events)]):
        look = first_between(looks, arrived, following)
        cleared = -1 if look is None else flow.ledger.cleared_at(leaf, look)
        if look is None or cleared < arrived or first_between(uses, arrived, cleared) is not None:
            return []
        found.append(look)
    return found


def _takers(flow: Flow, leaf: int) -> Iterator[int]:
    """Yield the calls that use what may be the gradient of a leaf: no call made it, and it has the same shape."""
    for tensor in _unmade(flow).get(flow.facts(leaf).shape, ()):
        yield from (row for row in flow.used_in.get(tensor, ()) if "gradient_of" not in flow.events[row].data)
    yield from (row for row, event in flow.of_kind("clip") if leaf in event.data.get("inputs", ()))


@answered_once
def _unmade(flow: Flow) -> dict[tuple[int, ...], list[int]]:
    """Return shape -> the tensors of it that no recorded call made and that never required grad."""
    found: dict[tuple[int, ...], list[int]] = {}
    for tensor, facts in enumerate(flow.tensors):
        if facts.made_by is None and not flow.requires_grad(tensor):
            found.setdefault(facts.shape, []).append(tensor)
    return found


def _steps_of_nothing(flow: Flow, leaf: int) -> Iterator[int]:
    """Yield the writes into a leaf computed from the tensor that holds its gradient, which the program writes to."""
    gradients = _written_gradients(flow).get(leaf, set())
    for row in flow.writes_into(leaf) if gradients else ():
        others = [given for given in flow.inputs(row) if given != leaf]
        if not gradients.isdisjoint(others) or made_of(flow, others, row, gradients.__contains__):
            yield row


@answered_once
def _written_gradients(flow: Flow) -> dict[int, set[int | None]]:
    """Return leaf -> the tensors that calls wrote to as its gradient."""
    found: dict[int, set[int | None]] = {}
    for row, event in flow.of_kind("inplace"):
        if (leaf := event.data.get("gradient_of")) is not None:
            found.setdefault(leaf, set()).add(flow.target(row))
    return found


def _looked_for_case(flow: Flow, looks_of: dict[int, list[int]]) -> Case:
    """Return the case of one line that clears what manual steps then use."""
    leaves = list(looks_of)
    look = looks_of[leaves[0]][0]
    clearing = flow.events[flow.ledger.cleared_at(leaves[0], look)]
    run = next(run for run in flow.runs if leaves[0] in flow.arrival_rows(run))
    return Case(
        kind="cleared-gradient",
        message=f"what backward{at(run.source)} gives {named(flow, leaves)} is cleared{at(clearing.source)}, "
        f"{times(len(looks_of[leaves[0]]))}, before the update{at(flow.events[look].source)} looks for it: no gradient "
        "was ever used, and the values have not moved.",
        remedy="in this order: backward(), then the update, then clear the gradients",
        source=clearing.source,
        op=clearing.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "passes": len(looks_of[leaves[0]])},
    )


# -- losses divided by the number of batches of a step, whose gradients are cleared after each batch


@dataclass(frozen=True, slots=True)
class _Loss:
    """The gradients of one leaf that steps lose."""

    leaf: int
    shares: int
    """Backward passes before each step."""
    lost: int
    """Those that are cleared before the step."""
    cleared: int
    """The row at which the first ones were."""
    run: Run


def _lost_shares(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose steps find only the last share of the gradients, each time.

    One that steps less often than another does so on purpose, as that of a slow critic.
    """
    optimizers = list(flow.ledger.optimizers.values())
    most = max((len(one.steps) for one in optimizers), default=0)
    for optimizer in optimizers if most >= HABIT else ():
        leaf = min(flow.accumulated.keys() & optimizer.leaves.keys(), default=None)
        rows = [step.row for step in optimizer.steps]
        lost = _lost(flow, leaf, rows) if leaf is not None and len(rows) == most else None
        if lost is not None and _is_divided(flow, lost.run, lost.shares):
            yield _shares_case(flow, lost, optimizer)


def _lost(flow: Flow, leaf: int, steps: list[int]) -> _Loss | None:
    """Return the gradients of a leaf that steps lose, if it is equally many each time, and nothing else reads them."""
    arrivals = flow.accumulated[leaf]
    found = set()
    for before, step in pairwise([-1, *steps]):
        between = arrivals[bisect_left(arrivals, before) : bisect_left(arrivals, step)]
        kept = sum(row > flow.ledger.cleared_at(leaf, step) for row in between)
        found.add((len(between), len(between) - kept))
    shares, lost = found.pop()
    runs = [run for run in flow.runs if leaf in flow.arrival_rows(run)]
    one_line = len({run.source for run in runs}) == 1
    if found or not 0 < lost < shares or flow.reads_of.get(leaf) or not one_line:
        return None
    cleared = flow.ledger.cleared_at(leaf, arrivals[lost])
    return _Loss(leaf, shares, lost, cleared, runs[0]) if last_before(arrivals, cleared) >= 0 else None


def _is_divided(flow: Flow, run: Run, shares: int) -> bool:
    """Whether a loss is divided by the number of shares before the root of the pass."""
    for row in flow.reached_by(run).calls:
        numbers = flow.numbers(row)
        if flow.does(row, Trait.DIVISION) and shares in numbers:
            return True
        if flow.does(row, Trait.PRODUCT) and any(math.isclose(one * shares, 1.0) for one in numbers):
            return True
    return False


def _shares_case(flow: Flow, lost: _Loss, optimizer: Optimizer) -> Case:
    """Return the case of one optimizer."""
    stepped, clearing = optimizer.steps[0].event, flow.events[lost.cleared]
    called = optimizer_name(flow, optimizer)
    return Case(
        kind="cleared-gradient",
        message=f"each {called}.step(){at(stepped.source)} follows {lost.shares} backward calls{at(lost.run.source)}, "
        f"whose loss is divided by {lost.shares}, but finds {lost.shares - lost.lost} of them: the gradients are "
        f"cleared{at(clearing.source)} {times(lost.lost)} before it.",
        remedy=f"clear them after the step alone: {called}.zero_grad() under the condition that {called}.step() has",
        source=clearing.source,
        op=clearing.op,
        subjects=frozenset({lost.leaf}),
        evidence={
            "backward_calls": lost.shares,
            "cleared": lost.lost,
            "step_line": stepped.source.line if stepped.source else 0,
        },
    )


# -- gradients that the program assigns, and assigns again before a step uses them


def _assigned_again(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer before whose steps gradients are assigned in place of others, time after time."""
    for optimizer in flow.ledger.optimizers.values():
        lost: dict[int, int] = {}
        stretches = list(pairwise([-1, *(step.row for step in optimizer.steps)]))
        for leaf in optimizer.leaves:
            pairs = [flow.ledger.assigned_between(leaf, *stretch) for stretch in stretches]
            if len(pairs) >= HABIT and all(len(rows) > 1 and _is_lost(flow, leaf, rows) for rows in pairs):
                lost[leaf] = pairs[-1][-1]
        if lost:
            yield _assigned_case(flow, optimizer, lost)


def _is_lost(flow: Flow, leaf: int, rows: Sequence[int]) -> bool:
    """Whether nothing uses what was assigned first, neither what is assigned last nor a call; zeros only clear."""
    given, ends = [flow.events[row].data.get("given", -1) for row in rows], (rows[0], rows[-1])
    if min(given) < 0 or first_between(flow.reads_of.get(leaf, ()), *ends) is not None:
        return False
    memories = [flow.facts(one).storage for one in given]
    used = any(first_between(flow.used_in.get(one), rows[0], len(flow.events)) is not None for one in given[:-1])
    used = used or first_between(_clips_of(flow).get(leaf, ()), *ends) is not None
    zeros = any(list(limits_of(flow, one, rows[-1]) or ()) == [0.0, 0.0] for one in given[:-1])
    behind = flow.behind(given[-1:], rows[-1], gradients=False).tensors
    return not used and not zeros and behind.isdisjoint(given[:-1]) and memories[-1] not in memories[:-1]


@answered_once
def _clips_of(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> the rows at which its gradient was clipped."""
    found: dict[int, list[int]] = {}
    for row, event in flow.of_kind("clip"):
        for leaf in event.data.get("inputs", ()):
            found.setdefault(leaf, []).append(row)
    return found


def _assigned_case(flow: Flow, optimizer: Optimizer, lost: dict[int, int]) -> Case:
    """Return the case of one optimizer."""
    names = listed(f"{flow.name(leaf)}.grad" for leaf in lost)
    event, step = flow.events[next(iter(lost.values()))], optimizer.steps[0].event
    return Case(
        kind="cleared-gradient",
        message=f"{names} {'is' if len(lost) == 1 else 'are'} assigned several times{at(event.source)} before each "
        f"{optimizer_name(flow, optimizer)}.step(){at(step.source)}: each time what was assigned before is lost, and "
        "the step uses the last alone.",
        remedy="add to what is there: p.grad = g if p.grad is None else p.grad + g",
        source=event.source,
        op=event.op,
        subjects=frozenset(lost),
        evidence={"leaves": [flow.name(leaf) for leaf in lost], "steps": len(optimizer.steps)},
    )
