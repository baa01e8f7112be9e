"""What is stepped by which optimizer: never, although frozen, in the wrong turn, without effect."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ....operators import Trait
from ....program.places import SourceLine
from ...base import Case
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...facts.optimizers import optimizer_name
from ...facts.runs import Run
from ...facts.steps import taken_gradients
from ...roles.trained import used_gradients
from ...text.spelling import rebound, receiver
from ...text.words import at, counted, listed, named, times
from ...thresholds import ASKED_OF_A_LINE, HABIT

# Optimizers whose parameters get gradients in pass after pass, while none of their steps ever uses one.


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
    """Return the case of one optimizer, at the step of another one in its place if there is one."""
    name, names = optimizer_name(flow, optimizer), named(flow, leaves)
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


# Parameters that were frozen and that steps go on moving, by a gradient that is still there.


def moved_frozen(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that changes parameters which were frozen before its step.

    A step leaves alone what has no ``.grad``; one of zeros, or of a pass before, is a gradient like others.
    """
    for optimizer in flow.ledger.optimizers.values():
        moved: dict[int, list[Step]] = {}
        for leaf in optimizer.leaves:
            steps = [step for step in optimizer.steps if _moves(flow, step, leaf)]
            if len(steps) >= HABIT:
                moved[leaf] = steps
        if moved:
            yield _moved_frozen_case(flow, optimizer, moved)


def _moves(flow: Flow, step: Step, leaf: int) -> bool:
    """Whether a step changes a frozen leaf, because of its remaining ``.grad``."""
    if (
        not step.effects_known
        or leaf not in step.held
        or leaf in step.event.data.get("without", ())
        or step.leaves_alone(leaf)
    ):
        return False
    return flow.switched_off(leaf, step.row) is not None and not flow.ledger.fresh(step, leaf)


def _moved_frozen_case(flow: Flow, optimizer: Optimizer, moved: dict[int, list[Step]]) -> Case:
    """Return the case of one optimizer."""
    leaf, steps = next(iter(moved.items()))
    frozen, name = flow.frozen_at(leaf, steps[0].row), optimizer_name(flow, optimizer)
    zero = leaf in steps[0].event.data.get("zero", ())
    left = "a tensor of zeros, on which momentum and weight decay act" if zero else "the gradient of an earlier pass"
    names, one = named(flow, moved), len(moved) == 1
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


# Steps that use, beside the gradients of their own loss, those that another optimizer's loss left on its way.


class _Mixed(NamedTuple):
    """A step with a pass that was not meant for it, the pass that was, and the purpose of the first."""

    step: Step
    foreign: Run
    own: Run
    purpose: str
    leaf: int


def other_turns(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose steps use two losses, one of which has another purpose."""
    runs = {row: run for run in flow.runs for rows in flow.arrival_rows(run).values() for row in rows}
    for optimizer in flow.ledger.optimizers.values():
        found: list[_Mixed] = []
        several = [step for step in optimizer.steps if _leaf_of_several(flow, step) is not None]
        for step in several[:ASKED_OF_A_LINE]:
            mixed = _mixed(flow, optimizer, step, runs)
            if mixed is not None:
                found.append(mixed)
                if len(found) == HABIT:
                    yield _other_turns_case(flow, optimizer, found[0])
                    break


def _leaf_of_several(flow: Flow, step: Step) -> int | None:
    """Return the first leaf for which a step finds several gradients."""
    found = (leaf for leaf in step.held if len(flow.ledger.fresh(step, leaf)) > 1)
    return None if step.has_closure else next(found, None)


def _mixed(flow: Flow, optimizer: Optimizer, step: Step, runs: dict[int, Run]) -> _Mixed | None:
    """Return what a step mixes, searched at the first leaf with several gradients for it."""
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
    """Return the optimizer for which the first of two passes is, and the second is not.

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
    """Return the leaf outside any optimizer that gets a gradient from the first pass and enters the second's loss.

    As the input of an attack, or of a map of what a network looks at.
    """
    leaves, behind = flow.arrival_rows(foreign).keys() - flow.optimized.keys(), flow.values_behind(own).calls
    between = (one for one in taken_gradients(flow) if foreign.end < one.row < own.begin)
    return next((one.leaf for one in between if one.leaf in leaves and one.row in behind), None)


def _other_turns_case(flow: Flow, optimizer: Optimizer, mixed: _Mixed) -> Case:
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


# Steps by hand that make new tensors, which nothing uses, and leave the parameters as they are.

_GRADIENT = ".grad"
"""The attribute of a tensor that holds its gradient."""


def lost_updates(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that computes a leaf's next values in pass after pass, for nothing."""
    if flow.error is not None:
        return
    lines: dict[object, list[int]] = defaultdict(list)
    updates = _averages(flow) if flow.optimizer_steps else {} if flow.rows.get("optimizer") else _updates(flow)
    lost = _lost(flow) if updates else set()
    for leaf, rows in updates.items():
        first = rows[0]
        moved = flow.written_after(leaf, 0) and flow.writes_into(leaf)[-1] > first
        moved = moved or any(row > first for row in flow.leaf_events.get((leaf, "written"), ()))
        if len(rows) >= HABIT and not moved and lost.issuperset(rows):
            lines[flow.events[rows[-1]].source].append(leaf)
    for leaves in lines.values():
        yield _lost_updates_case(flow, leaves, updates[leaves[0]])


def _updates(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> the calls that add something made of a gradient to it."""
    wanted = {leaf for leaf in {*flow.accumulated, *(one for run in flow.runs for one in run.inputs)} if leaf >= 0}
    homes = {(flow.facts(leaf).storage, flow.facts(leaf).shape): leaf for leaf in wanted if flow.is_leaf(leaf)}
    gradients, scaled = set[int](), dict[int, int]()
    found: dict[int, list[int]] = defaultdict(list)
    for row, event in enumerate(flow.events):
        made = event.data.get("outputs", ())
        if event.kind not in ("operation", "cut") or (len(made) != 1 and not flow.is_gradient(row)):
            continue
        given = event.data.get("inputs", ())
        leaves = {scaled.get(one, homes.get((flow.facts(one).storage, flow.facts(one).shape), -1)) for one in given}
        leaves.discard(-1)
        gradients |= _read_in(flow, row)
        if flow.is_gradient(row):
            gradients.update(made)
        elif not gradients.isdisjoint(given):
            gradients.add(made[0])
            if len(leaves) == 1 and flow.does(row, Trait.LINEAR) and flow.does(row, Trait.ADDITION):
                leaf = leaves.pop()
                if flow.facts(leaf).shape == flow.facts(made[0]).shape:
                    found[leaf].append(row)  # a decay, perhaps, which is a part of the step
        elif len(given) == 1 and leaves and flow.does(row, Trait.SCALING):
            scaled[made[0]] = leaves.pop()
    return found


def _averages(flow: Flow) -> dict[int, list[int]]:
    """Return parameter that nothing trains -> the calls that mix it with one of its shape that an optimizer has."""
    held = {leaf for _, event in flow.of_kind("module") for leaf in held_by(event)}
    homes = {(flow.facts(leaf).storage, flow.facts(leaf).shape): leaf for leaf in (*held, *flow.optimized)}
    scaled, found = dict[int, int](), defaultdict[int, list[int]](list)
    for row, event in enumerate(flow.events) if held - flow.optimized.keys() else ():
        made, given = event.data.get("outputs", ()), event.data.get("inputs", ())
        if event.kind not in ("operation", "cut") or len(made) != 1 or flow.has_node(row):
            continue
        sides = [scaled.get(one, homes.get((flow.facts(one).storage, flow.facts(one).shape), -1)) for one in given]
        if len(sides) == 1 and sides[0] >= 0 and flow.does(row, Trait.SCALING):
            scaled[made[0]] = sides[0]
        still = [leaf for leaf in sides if leaf >= 0 and leaf not in flow.optimized and leaf not in flow.accumulated]
        mixed = len(sides) == 2 and len(still) == 1 and not flow.optimized.keys().isdisjoint(sides)
        mixed = mixed and flow.does(row, Trait.LINEAR) and flow.facts(made[0]).shape == flow.facts(still[0]).shape
        if mixed and rebound(flow.spelling.text(event.source)):  # else it may be kept, saved or sent, unseen
            found[still[0]].append(row)
    return found


def _read_in(flow: Flow, row: int) -> set[int]:
    """Return a call's operands that were read from ``.grad``."""
    named = flow.written_names(row).items()
    return {one for one, name in named if name.endswith(_GRADIENT) or flow.facts(one).name.endswith(_GRADIENT)}


def _lost(flow: Flow) -> set[int]:
    """Return the calls whose results go nowhere: no pass starts at them, and only calls take them that are lost, too.

    All of a shape: what is computed of them in another one, such as a loss, may be what they were made for.
    """
    roots = {root for run in flow.runs for root in run.roots}
    lost, shapes = set[int](), dict[int, tuple[int, ...]]()
    for row in reversed(range(len(flow.events))):  # what takes a result comes later
        made = flow.events[row].data.get("outputs", ())
        if not made or not roots.isdisjoint(made):
            continue
        shapes[row] = flow.facts(made[0]).shape
        later = {one for output in made for one in flow.used_in.get(output, ())} - {row}
        if later <= lost and all(shapes[one] == shapes[row] for one in later):
            lost.add(row)
    return lost


def _lost_updates_case(flow: Flow, leaves: list[int], rows: list[int]) -> Case:
    """Return the case of the leaves that one line recomputes."""
    event, names = flow.events[rows[-1]], named(flow, leaves)
    count = sum(flow.events[row].source == event.source for row in rows)
    spelled = next(iter(event.data.get("output_names", ())), "")
    one = len(leaves) == 1
    bound = f" Assigning to the name {spelled} does not write into the tensor that it stood for." if spelled else ""
    return Case(
        kind="lost-update",
        message=f"{names} never {'changes' if one else 'change'}: the step{at(event.source)} computes "
        f"{'its' if one else 'their'} next values into {'a new tensor' if one else 'new tensors'}, and nothing uses "
        f"{'it' if one else 'them'}, in {counted(count, 'step')}.{bound}",
        remedy="write into the tensor itself, under torch.no_grad(): p -= lr * g, or p.copy_(new); or return the new "
        "tensors and compute with them",
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": count},
    )
