"""Parameters that no step moves although each finds a gradient: the rate is zero, or the updates come to nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...base import Case
from ...facts.call_inputs import LARGEST
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...text.words import at, listed
from ...thresholds import HIDDEN_BY_EPSILON, OFTEN_ZERO, SEEN, STEADY, VANISHED
from .naming import line_of_rate, optimizer_name

_WIDE = ("float32", "float64", "complex64", "complex128")


def unmoved(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer, and each group of one, that leaves what it has as it is."""
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
        elif stuck and len(stuck) == len(leaves) and not wide:  # else the rest may be near enough to where it is to be
            yield _rounded_case(flow, optimizer, stuck)


def _idle_since(flow: Flow, optimizer: Optimizer, leaf: int) -> int | None:
    """Return the number of the step from which on the rate of a leaf is zero, if it stays so for a large part of all.

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
    """Return what to write where a rate is zero: another one, or a schedule that gives another one."""
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
    names = listed(flow.name(leaf) for leaf in leaves)
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
        and all(step.told and step.leaves_alone(leaf) and _is_to_move(flow, step, leaf) for step in steps)
    )


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
    names, are = listed(flow.name(leaf) for leaf in leaves), "is" if len(leaves) == 1 else "are"
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
    """Return the case of one optimizer whose updates do not reach what it updates."""
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
