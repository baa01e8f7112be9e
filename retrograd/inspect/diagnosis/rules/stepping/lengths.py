"""Step sizes: zero, too small, too large, scaled twice."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...base import Case
from ...facts.call_inputs import LARGEST, limits_of
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...facts.optimizers import line_of_rate, optimizer_name
from ...facts.row_table import last_before
from ...facts.runs import Run
from ...queries.overshoot import Overshoot, overshoots
from ...text.words import at, counted, listed, named, times
from ...thresholds import (
    GROWN,
    HABIT,
    HIDDEN_BY_EPSILON,
    LAST_DIGIT,
    OFTEN_ZERO,
    SAME_NUMBER,
    SEEN,
    SERIES,
    STEADY,
    USUAL_RATE,
    VANISHED,
)

# Parameters that no step moves although each finds a gradient: the rate is zero, or the updates come to nothing.

_WIDE = ("float32", "float64", "complex64", "complex128")


def unmoved(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer, and each group, that leaves its parameters unchanged."""
    for optimizer in flow.ledger.optimizers.values():
        leaves = [leaf for leaf in optimizer.leaves if leaf in flow.accumulated and not flow.ledger.moved_by_hand(leaf)]
        idle: dict[int, list[int]] = {}
        for leaf in leaves:
            if (begin := _idle_since(flow, optimizer, leaf)) is not None:
                idle.setdefault(begin, []).append(leaf)
        for begin, together in idle.items():
            yield _rate_case(flow, optimizer, together, begin)
        stuck = [leaf for leaf in leaves if _is_stuck(flow, optimizer, leaf)]
        wide = [leaf for leaf in stuck if flow.ledger.dtype(leaf) in _WIDE]
        lost = [leaf for leaf in wide if _is_large(flow, optimizer, leaf)]
        if lost:
            yield _lost_case(flow, optimizer, lost)
        elif stuck and not wide and not _others_move(flow, optimizer, leaves, stuck):
            yield _rounded_case(flow, optimizer, stuck)


def _idle_since(flow: Flow, optimizer: Optimizer, leaf: int) -> int | None:
    """Return the step from which on a leaf's rate is zero, if it stays so for a large part of all steps.

    Or next to zero beside what it was.  A single step proves nothing: schedules begin or end at zero.
    """
    steps = [step for step in optimizer.steps if leaf in step.held]
    rates = [rate for step in steps if isinstance(rate := step.setting(leaf, "lr"), int | float)]
    zeros, small = 0, max(rates, default=0.0) / VANISHED
    while zeros < len(rates) == len(steps) and rates[-1 - zeros] <= small:
        zeros += 1
    enough = zeros == len(rates) > 1 or (zeros >= STEADY and zeros >= OFTEN_ZERO * len(rates))
    begin = len(rates) - zeros
    served = any(flow.ledger.fresh(step, leaf) for step in steps[begin:])
    return begin if enough and served and not _others(flow, optimizer, leaf) else None


def _others(flow: Flow, optimizer: Optimizer, leaf: int) -> bool:
    """Whether another optimizer steps a leaf, too."""
    return any(step.event.data.get("owner") != optimizer.number for step in flow.ledger.steps_of[leaf])


def _remedy(optimizer: Optimizer, step: Step, them: str, *, late: bool) -> str:
    """Return the fix for a rate of zero: another rate, or a schedule with another one."""
    line = step.settings_line
    if line is None or line == optimizer.event.source:
        return f"a learning rate above 0, or requires_grad_(False) for {them}, which also saves the time for gradients"
    if late:
        return (
            f"let what sets the rate{at(line)} stay above 0 until the training ends; a schedule that counts epochs is "
            "to be stepped once in each, and not after each batch"
        )
    return (
        f"give a rate above 0{at(line)}; where that is a schedule which rises from 0, call scheduler.step() after each "
        "step of the optimizer, or let it begin above 0: (step + 1) in place of step"
    )


def _rate_case(flow: Flow, optimizer: Optimizer, leaves: list[int], begin: int) -> Case:
    """Return the case of leaves whose group has a rate of zero from one step on."""
    steps = [step for step in optimizer.steps if leaves[0] in step.held]
    step, count = steps[begin], len(steps) - begin
    names = named(flow, leaves)
    source = line_of_rate(flow, optimizer, step, leaves[0])
    one = len(leaves) == 1
    them, get = ("it", "gets a gradient, but its") if one else ("them", "get gradients, but their")
    all_of_it = f"in all {count} calls" if not begin else f"in the last {count} of {len(steps)} calls"
    first, last = (steps[place].setting(leaves[0], "lr") for place in (0, -1))
    value = "0" if not last else f"next to 0 beside the first one ({last:.1g} in the end, {first:g} at first)"
    return Case(
        kind="optimizer-mismatch",
        message=f"{names} {get} learning rate, set{at(source)}, is {value} {all_of_it} of "
        f"{optimizer_name(flow, optimizer)}.step(){at(step.event.source)}, so nothing moves {them}.",
        remedy=_remedy(optimizer, step, them, late=bool(begin)),
        source=source,
        op=optimizer.event.data.get("type", ""),
        severity="warning",
        subjects=frozenset(leaves),
        evidence={"idle": [flow.name(leaf) for leaf in leaves], "steps": count},
    )


def _is_stuck(flow: Flow, optimizer: Optimizer, leaf: int) -> bool:
    """Whether each step left a leaf as it was, in spite of a gradient and of a rate that is not zero."""
    steps = [step for step in optimizer.steps if leaf in step.held]
    return (
        len(steps) >= STEADY
        and not _others(flow, optimizer, leaf)
        and all(step.effects_known and step.leaves_alone(leaf) and _is_to_move(flow, step, leaf) for step in steps)
    )


def _others_move(flow: Flow, optimizer: Optimizer, leaves: list[int], stuck: list[int]) -> bool:
    """Whether leaves beside stuck ones find gradients that are not zero: these may be near enough to where they are to
    be.
    """
    others = set(leaves).difference(stuck)
    return any(_is_to_move(flow, step, leaf) for leaf in others for step in optimizer.steps if leaf in step.held)


def _is_to_move(flow: Flow, step: Step, leaf: int) -> bool:
    """Whether a step finds a new gradient of a leaf that is neither zero nor bad, and has a rate for it."""
    arrivals, rate = flow.ledger.fresh(step, leaf), step.setting(leaf, "lr")
    norm = flow.events[arrivals[-1]].data.get("grad_norm") if arrivals else None
    return bool(norm) and math.isfinite(norm or 0.0) and isinstance(rate, int | float) and rate > 0


def _is_large(flow: Flow, optimizer: Optimizer, leaf: int) -> bool:
    """Whether each update of a leaf is so large that float32 would show it, whatever the leaf holds."""
    size = max(math.prod(flow.facts(leaf).shape), 1)
    for step in optimizer.steps:
        rate = step.setting(leaf, "lr")
        norm = flow.events[flow.ledger.fresh(step, leaf)[-1]].data["grad_norm"]
        slope = norm / math.sqrt(size)
        divided = bool(step.setting(leaf, "betas")) and slope > HIDDEN_BY_EPSILON  # as those with moments do
        scale = 1.0 if divided else slope
        if rate * scale < SEEN:
            return False
    return True


def _same(flow: Flow, optimizer: Optimizer, leaves: list[int]) -> str:
    """Say which leaves stay as they are, although gradients arrive."""
    rates = listed(dict.fromkeys(f"{optimizer.steps[0].setting(leaf, 'lr'):g}" for leaf in leaves))
    arrivals = (flow.events[row].data.get("grad_norm") or 0.0 for leaf in leaves for row in flow.accumulated[leaf])
    names, are = named(flow, leaves), "is" if len(leaves) == 1 else "are"
    return (
        f"{names} {are} the same, bit by bit, after each of {len(optimizer.steps)} steps"
        f"{at(optimizer.steps[0].event.source)}, although gradients arrive (with norms up to {max(arrivals):.2g}) "
        f"and lr={rates}"
    )


def _rounded_case(flow: Flow, optimizer: Optimizer, leaves: list[int]) -> Case:
    """Return the case of one optimizer whose updates are too small for the numbers that it updates."""
    dtypes = (flow.ledger.dtype(leaf) for leaf in leaves)
    dtype = next((dtype for dtype in dtypes if dtype in LARGEST), "half precision")
    why = f": every update is rounded away, for {dtype} has no number so near to the next one."
    remedy = f"keep the weights in float32 (torch.autocast computes in {dtype}), or step a float32 copy of them"
    return _case(flow, optimizer, leaves, "underflow", (why, remedy))


def _lost_case(flow: Flow, optimizer: Optimizer, leaves: list[int]) -> Case:
    """Return the case of one optimizer whose updates are too small to change its parameters."""
    why = ": the update is written somewhere else, as into a copy."
    remedy = "write the update into the parameter itself, under no_grad: p.sub_(rate * p.grad)"
    return _case(flow, optimizer, leaves, "optimizer-mismatch", (why, remedy))


def _case(flow: Flow, optimizer: Optimizer, leaves: list[int], kind: str, words: tuple[str, str]) -> Case:
    event = optimizer.steps[0].event
    return Case(
        kind=kind,
        message=_same(flow, optimizer, leaves) + words[0],
        remedy=words[1],
        source=event.source,
        op=event.data.get("type", ""),
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": len(optimizer.steps)},
    )


# Learning rates so small that no step changes a weight by more than the rounding of its numbers does.


def creeping(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer all of whose steps are too small to change anything."""
    for optimizer in flow.ledger.optimizers.values():
        shares = _shares(flow, optimizer)
        if shares and max(shares.values()) < LAST_DIGIT:
            yield _creeping_case(flow, optimizer, shares)


def _shares(flow: Flow, optimizer: Optimizer) -> dict[int, float]:
    """Return by how large a share of itself steps change each leaf at most, as far as a better rate would show."""
    found: dict[int, float] = {}
    if len(optimizer.steps) < SERIES or any(not step.effects_known for step in optimizer.steps):
        return {}
    for leaf in optimizer.leaves:
        if leaf not in flow.accumulated:
            continue
        largest = _largest(flow, leaf)
        changes = [_change(flow, step, leaf) for step in optimizer.steps if leaf in step.held]
        rates = {step.setting(leaf, "lr") for step in optimizer.steps}
        if largest is None or None in changes or len(rates) != 1 or flow.ledger.moved_by_hand(leaf):
            return {}
        (rate,), change = rates, max(one for one in changes if one is not None)
        if rate and change / rate * USUAL_RATE > SEEN * largest:
            found[leaf] = change / largest
    return found


def _largest(flow: Flow, leaf: int) -> float | None:
    """Return the largest entry of a leaf when its first gradient arrived, None if that is unknown or zero."""
    limits = limits_of(flow, leaf, flow.accumulated[leaf][0])
    return None if limits is None else max(map(abs, limits)) or None


def _change(flow: Flow, step: Step, leaf: int) -> float | None:
    """Return how far a step moves the entries of a leaf, about, None if that is unknown."""
    rate, arrivals = step.setting(leaf, "lr"), flow.ledger.fresh(step, leaf)
    norm = flow.events[arrivals[-1]].data.get("grad_norm") if arrivals else None
    if not isinstance(rate, int | float) or not rate or norm is None or not math.isfinite(norm):
        return None
    adaptive = step.setting(leaf, "betas") is not None  # divides by the size of the gradient
    momentum = step.setting(leaf, "momentum") or 0.0
    slope = 1.0 if adaptive else norm / math.sqrt(max(math.prod(flow.facts(leaf).shape), 1))
    return float(rate * slope / (1 - momentum)) if momentum < 1 else None


def _creeping_case(flow: Flow, optimizer: Optimizer, shares: dict[int, float]) -> Case:
    """Return the case of one optimizer."""
    step, leaf = optimizer.steps[0], next(iter(shares))
    rate, names = step.setting(leaf, "lr"), named(flow, shares)
    source = line_of_rate(flow, optimizer, step, leaf)
    return Case(
        kind="optimizer-mismatch",
        message=f"{counted(len(optimizer.steps), 'step')} of {optimizer_name(flow, optimizer)}{at(step.event.source)} "
        f"move next to nothing, for the learning rate is lr={rate:g}, set{at(source)}: each changes {names} by about "
        f"{max(shares.values()):.1g} of its size, which is no more than rounding, although gradients arrive.",
        remedy=f"a larger learning rate: lr={USUAL_RATE:g} would change it by "
        f"{max(shares.values()) * USUAL_RATE / rate:.1g}",
        source=source,
        op=optimizer.event.data.get("type", ""),
        severity="warning",
        subjects=frozenset(shares),
        evidence={"leaves": [flow.name(one) for one in shares], "lr": rate, "steps": len(optimizer.steps)},
    )


# Learning rates by which steps go too far: the loss rises out of all bounds, or is not finite after one.


def overshot(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that sets too large a rate."""
    return (_overshot_case(flow, run, found) for run, found in overshoots(flow))


def _overshot_case(flow: Flow, run: Run, found: Overshoot) -> Case:
    """Return the case of one loss."""
    leaf, call, root = flow.name(found.leaf), flow.events[found.call], flow.root_name(run)
    update = flow.events[found.row]
    what, rate, source, subjects = f"the update of {leaf}", "its rate", update.source, {found.leaf}
    if found.step is not None:
        optimizer = flow.ledger.optimizers[found.step.event.data.get("owner")]
        what = f"{optimizer_name(flow, optimizer)}.step()"
        rate = f"lr={found.step.setting(found.leaf, 'lr'):g}"
        source = line_of_rate(flow, optimizer, found.step, found.leaf)
        subjects = set(optimizer.leaves)
    first, last = found.losses[0], found.losses[-1]
    ends = f"from {first:.4g} to {last:.4g}" if math.isfinite(last) else f"from {first:.4g} until it is not finite"
    rises = "with it" if len(found.losses) == 2 else f"in each of {counted(len(found.losses) - 1, 'step')}"
    large = GROWN <= found.data < math.inf
    scale = f"scale the data, which reach up to {found.data:.4g}, to about 1, or choose " if large else ""
    return Case(
        kind="exploding",
        message=f"{what}{at(update.source)} goes too far by {rate}: what {call.op}{at(call.source)} makes with {leaf} "
        f"grows from {found.before:.3g} to {found.after:.3g}, and {root} rises {rises}, {ends}.",
        remedy=f"{scale}a smaller learning rate: one step must change a weight by no more than a small part of it",
        source=source,
        op=update.op,
        severity="error",
        subjects=frozenset(subjects),
        evidence={"leaf": leaf, "losses": list(found.losses)},
    )


# Steps by gradients of a loss that was scaled up, and that nothing scaled down again.


def scaled(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that is stepped by itself, and never by the scaler of its loss."""
    calls = list(flow.of_kind("scaling"))
    scaling = [row for row, event in calls if not event.data.get("inputs")]  # of a loss, not of an optimizer
    served = {leaf for _, event in calls for leaf in event.data.get("inputs", ())}
    for optimizer in flow.ledger.optimizers.values() if scaling else ():
        if served.isdisjoint(optimizer.leaves):
            found = [(step, row) for step in optimizer.steps if (row := _scaled_for(flow, step, scaling)) is not None]
            if len(found) >= HABIT:
                yield _scaled_case(flow, optimizer, found)


def _scaled_for(flow: Flow, step: Step, scaling: list[int]) -> int | None:
    """Return the row at which the loss was scaled whose gradients a step uses."""
    arrivals = flow.ledger.fresh(step, next(iter(step.held), -1))
    run = flow.last_begun(arrivals[-1]) if arrivals else None
    if run is None:
        return None
    before = flow.last_begun(run.begin)
    row = last_before(scaling, run.begin)
    return row if row > (-1 if before is None else before.end) else None


def _scaled_case(flow: Flow, optimizer: Optimizer, found: list[tuple[Step, int]]) -> Case:
    """Return the case of one optimizer."""
    (step, row), name = found[0], optimizer_name(flow, optimizer)
    line = flow.events[row].source
    return Case(
        kind="scaled-gradient",
        message=f"{name}.step(){at(step.event.source)} uses gradients of a loss that was scaled up{at(line)}, "
        f"{times(len(found))}: nothing unscales them, so each update is as many times too large.",
        remedy=f"scaler.step({name}) and scaler.update() in place of {name}.step()",
        source=step.event.source,
        op="step",
        subjects=frozenset(optimizer.leaves),
        because=("the scaler neither unscales these gradients nor steps this optimizer",),
        evidence={"steps": len(found)},
    )


# Schedules that return the learning rate where a factor is wanted: steps have the rate times itself.


def squared_rate(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose rates are those that it was made with times one of these at most.

    A schedule that begins with such a factor and falls, or rises to it and continues, is not a warm-up ending there by
    chance, no cycle and no rate that the program sets by itself.
    """
    for optimizer in flow.ledger.optimizers.values():
        made = _rates(optimizer.event.data.get("settings"))
        factors = [_factor(made, _rates(step.event.data.get("settings"))) for step in optimizer.steps]
        known = [factor for factor in factors if factor is not None]
        most = max(known, default=1.0)
        if len(known) < max(len(factors), SERIES) or not min(known) < most < 1 or known.index(most) == len(known) - 1:
            continue
        first, last = optimizer.steps[0], optimizer.steps[-1]
        squared = any(math.isclose(most, rate, rel_tol=SAME_NUMBER) for rate in made)
        if squared and first.settings_line not in (None, last.settings_line):
            yield _squared_rate_case(flow, optimizer, most, most * max(made))


def _rates(settings: object) -> list[float]:
    """Return the rates of an optimizer's groups, as far as they are plain numbers."""
    rates = [one.get("lr") for one in settings] if isinstance(settings, list) else []
    return [float(rate) for rate in rates if isinstance(rate, int | float)]


def _factor(made: list[float], now: list[float]) -> float | None:
    """Return the factor by which all groups have another rate than they were made with, None if they have several."""
    factors = [after / before for before, after in zip(made, now, strict=False) if before]
    same = (
        len(made) == len(now) and factors and all(math.isclose(one, factors[0], rel_tol=SAME_NUMBER) for one in factors)
    )
    return factors[0] if same else None


def _squared_rate_case(flow: Flow, optimizer: Optimizer, factor: float, rate: float) -> Case:
    """Return the case of one optimizer."""
    source = optimizer.steps[0].settings_line
    name = optimizer_name(flow, optimizer)
    return Case(
        kind="optimizer-mismatch",
        message=f"{name} steps with lr={rate:g} at most, which is the rate that it was made with times {factor:g}, a "
        f"rate again: the schedule{at(source)} multiplies by what its function returns, which is the rate itself.",
        remedy="return the factor alone, which is 1.0 where the rate is to stay as it is",
        source=source,
        op=optimizer.event.data.get("type", ""),
        severity="warning",
        evidence={"factor": factor, "lr": rate},
    )
