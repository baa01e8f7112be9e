"""Learning rates so small that no step changes a weight by more than the rounding of its numbers does."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...base import Case
from ...facts.call_inputs import limits_of
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...text.words import at, counted, listed
from ...thresholds import LAST_DIGIT, SEEN, SERIES, USUAL_RATE
from .naming import line_of_rate, optimizer_name


def creeping(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer all of whose steps are too small to change anything."""
    for optimizer in flow.ledger.optimizers.values():
        shares = _shares(flow, optimizer)
        if shares and max(shares.values()) < LAST_DIGIT:
            yield _case(flow, optimizer, shares)


def _shares(flow: Flow, optimizer: Optimizer) -> dict[int, float]:
    """Return by how large a share of itself steps change each leaf at most, as far as a better rate would show."""
    found: dict[int, float] = {}
    if len(optimizer.steps) < SERIES or any(not step.told for step in optimizer.steps):
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


def _case(flow: Flow, optimizer: Optimizer, shares: dict[int, float]) -> Case:
    """Return the case of one optimizer."""
    step, leaf = optimizer.steps[0], next(iter(shares))
    rate, names = step.setting(leaf, "lr"), listed(flow.name(one) for one in shares)
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
