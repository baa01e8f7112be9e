"""Compares two watched runs: where their losses diverge, and how their parameters behave differently.

Parameters are compared over the whole run (whether they got gradients and changed, and by how much), not step by step,
so that another seed or batch size alone makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .history import Array, Curves
from .watched_file import WatchedRun

FAR = 10.0
"""Factor between medians above which they differ."""
_OF_STEPS = ("rate", "clip", "scale")


@dataclass(frozen=True, slots=True)
class Profile:
    """Summary of one parameter over a run."""

    reached: float
    """Share of the steps in which it got a gradient."""
    nonzero: float
    """Share of these in which the gradient was nonzero."""
    moved: float
    """Share of the steps that changed it."""
    gradient: float
    """Median norm of its gradient."""
    ratio: float
    """Median change in a step relative to its norm."""
    broken: bool
    """Whether its gradient was ever non-finite."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference; a smaller ``rank`` is more serious."""

    rank: int
    what: str
    """A parameter, or a statistic of the steps."""
    sentence: str


def profile(curves: Curves, owner: str) -> Profile:
    """Return the summary of one parameter."""
    gradient, update = curves.of("gradient", owner), curves.of("update", owner)
    there = ~np.isnan(gradient)
    bad = curves.of("nonfinite", owner)
    return Profile(
        _share(there | (bad > 0)),
        _share((gradient > 0)[there]),
        _share((update > 0)[~np.isnan(update)]),
        _median(gradient),
        _median(curves.update_ratio(owner)),
        bool((bad > 0).any()),
    )


def differences(one: WatchedRun, other: WatchedRun) -> list[Difference]:
    """Return how the second run differs from the first, likely causes first."""
    found = [*_of_modes(one.about.get("modes", {}), other.about.get("modes", {}))]
    found += [*_of_parameters(one.curves, other.curves), *_of_steps(one.curves, other.curves)]
    divergence = first_divergence(one.curves, other.curves)
    if divergence is not None:
        found.append(Difference(9, "loss", divergence))
    return sorted(found, key=lambda difference: difference.rank)


def first_divergence(one: Curves, other: Curves) -> str | None:
    """Say at which step the losses of two runs that began equal diverge; None if they never agree or diverge."""
    steps = min(len(one), len(other))
    same = np.array_equal(one.first[:steps], other.first[:steps])
    losses = [curves.of("loss")[:steps] for curves in (one, other)]
    if not same or not steps:
        return None
    with np.errstate(all="ignore"):
        apart = ~np.isclose(losses[0], losses[1], rtol=1e-4, equal_nan=True)
    if apart[0] or not apart.any():
        return None
    at = int(np.argmax(apart))
    return (
        f"the losses are equal up to step {one.last[at - 1]:,} and diverge at step {one.first[at]:,}: "
        f"{losses[0][at]:.6g} and {losses[1][at]:.6g}"
    )


def _of_modes(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[Difference]:
    """Yield modules in other modes when they are trained, those alone whose outer module is not among them."""
    changed = {name for name in one if name in other and one[name] != other[name]}
    for name in sorted(changed):
        outer = name.rpartition(".")[0]
        if outer not in changed or (one[outer], other[outer]) != (one[name], other[name]):
            yield Difference(0, name, f"is in {one[name]} mode when a step is taken, then in {other[name]} mode")


def _of_parameters(one: Curves, other: Curves) -> Iterator[Difference]:
    owners, others = one.owners("gradient"), other.owners("gradient")
    for name in owners:
        if name not in others:
            yield Difference(1, name, "is held by an optimizer in the first run only")
    for name in others:
        if name not in owners:
            yield Difference(1, name, "is held by an optimizer in the second run only")
    for name in owners:
        if name in others:
            yield from _of_one(name, profile(one, name), profile(other, name))


def _of_one(name: str, one: Profile, other: Profile) -> Iterator[Difference]:
    """Yield the most serious difference of one parameter."""
    if _apart(one.reached, other.reached):
        yield Difference(2, name, f"gets a gradient in {one.reached:.0%} of the steps, then {other.reached:.0%}")
    elif _apart(one.nonzero, other.nonzero):
        shares = f"{one.nonzero:.0%} of the steps, then {other.nonzero:.0%}"
        yield Difference(3, name, f"gets a gradient other than zero in {shares}")
    elif _apart(one.moved, other.moved):
        yield Difference(4, name, f"moves in {one.moved:.0%} of the steps, then {other.moved:.0%}")
    elif one.broken != other.broken:
        which = "second" if other.broken else "first"
        yield Difference(5, name, f"gets a gradient that is not finite in the {which} run only")
    elif _far(one.gradient, other.gradient):
        yield Difference(7, name, f"gets gradients of median norm {one.gradient:.3g}, then {other.gradient:.3g}")
    elif _far(one.ratio, other.ratio):
        yield Difference(8, name, f"is changed by {one.ratio:.3g} of its norm a step, then by {other.ratio:.3g}")


def _of_steps(one: Curves, other: Curves) -> Iterator[Difference]:
    """Yield differences in learning rates, clipping and loss scales."""
    for figure in _OF_STEPS:
        values = [_median(curves.of(figure)) for curves in (one, other)]
        there = [not math.isnan(value) for value in values]
        if there[0] != there[1]:
            yield Difference(6, figure, f"there is one in the {'first' if there[0] else 'second'} run only")
        elif all(there) and _far(*values):
            yield Difference(6, figure, f"has the median {values[0]:.3g}, then {values[1]:.3g}")


def _share(values: Array) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _median(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def _apart(one: float, other: float) -> bool:
    """Whether two shares differ by at least half of the steps."""
    return abs(one - other) >= 0.5


def _far(one: float, other: float) -> bool:
    """Whether one median is many times the other, or only one is zero."""
    if math.isnan(one) or math.isnan(other):
        return False
    low, high = sorted((abs(one), abs(other)))
    return high > FAR * low
