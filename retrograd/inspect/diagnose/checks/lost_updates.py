"""Weights of half precision that no step of their optimizer changes, because every update is rounded away."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..base import Case, Check
from ..recorded.call_inputs import LARGEST
from ..recorded.clearing import cleared_at, last_before
from ..recorded.flow import Flow
from ..words import at, listed

_STEPS = 5
"""Steps that must have changed nothing: a schedule may begin with a rate near zero."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer whose steps all leave everything as it is, although gradients arrive.

    Where something of what it holds does change, the rest may be near enough to where it is to be.
    """
    steps: dict[object, list[int]] = {}
    for row in flow.optimizer_steps:
        steps.setdefault(flow.events[row].data.get("owner"), []).append(row)
    for rows in steps.values():
        held = [leaf for leaf in flow.events[rows[0]].data.get("parameters", {}).values() if leaf in flow.accumulated]
        if len(rows) > _STEPS and held and all(_is_stuck(flow, leaf, rows) for leaf in held):
            yield _case(flow, sorted(set(held)), rows)


CHECK = Check("flat", {}, find)


def _is_stuck(flow: Flow, leaf: int, steps: list[int]) -> bool:
    """Whether each step left a leaf as it was, in spite of a gradient and of a rate that is not zero."""
    return all(leaf in flow.events[row].data.get("still", ()) and _is_to_move(flow, leaf, row) for row in steps)


def _is_to_move(flow: Flow, leaf: int, step: int) -> bool:
    """Whether a step finds a gradient of a leaf that is neither zero nor bad, and has a rate for it."""
    data = flow.events[step].data
    place = next((place for place, one in data.get("parameters", {}).items() if one == leaf), "")
    settings = data.get("settings") or []
    group = int(place.partition(".")[0] or 0)
    rate = settings[group].get("lr") if group < len(settings) else None
    arrival = last_before(flow.accumulated[leaf], step)
    norm = flow.events[arrival].data.get("grad_norm") if arrival > cleared_at(flow, leaf, step) else None
    return bool(norm) and math.isfinite(norm or 0.0) and isinstance(rate, int | float) and rate > 0


def _case(flow: Flow, leaves: list[int], steps: list[int]) -> Case:
    """Return the case of one optimizer."""
    event = flow.events[steps[0]]
    rates = listed(f"{group.get('lr', 0):g}" for group in event.data.get("settings", ()))
    dtype = next((flow.facts(leaf).dtype for leaf in leaves if flow.facts(leaf).dtype in LARGEST), "half precision")
    arrivals = (flow.events[row].data.get("grad_norm") or 0.0 for leaf in leaves for row in flow.accumulated[leaf])
    names, one = listed(flow.name(leaf) for leaf in leaves), len(leaves) == 1
    return Case(
        kind="underflow",
        message=f"{names} {'is' if one else 'are'} the same before each of {len(steps)} steps{at(event.source)}, "
        f"although gradients arrive (with norms up to {max(arrivals):.2g}): with lr={rates} every update is rounded "
        f"away, for {dtype} has no number so near to the next one.",
        remedy=f"keep the weights in float32 (torch.autocast computes in {dtype}), or step a float32 copy of them",
        source=event.source,
        op=event.data.get("type", ""),
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": len(steps), "dtype": dtype},
    )
