"""Schedules that return the learning rate where a factor is wanted: steps have the rate times itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer
from ...text.words import at
from ...thresholds import SAME_NUMBER, SERIES
from .naming import optimizer_name


def squared_rate(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose rates are those that it was made with times one of these at most.

    A schedule that begins with such a factor and falls, or rises to it and goes on, is no warm-up that ends there by
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
            yield _case(flow, optimizer, most, most * max(made))


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


def _case(flow: Flow, optimizer: Optimizer, factor: float, rate: float) -> Case:
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
