"""Hinges that are satisfied because an infinity came in: no training aims at that."""

from __future__ import annotations

import math

from ...base import Case
from ...recorded.call_inputs import known_limits
from ...recorded.flow import Flow
from ...words import at, listed


def hinge_of_infinity(flow: Flow, row: int, leaves: list[int]) -> Case | None:
    """Return the case of a hinge all of whose entries are off because each was computed from an infinity."""
    event = flow.events[row]
    if not any(math.isinf(end) for limits in known_limits(flow, row) for end in limits):
        return None
    behind = sorted(flow.behind(flow.inputs(row), row, gradients=False).calls)
    born = next((call for call in behind if _makes_infinity(flow, call)), row)
    source = flow.events[born].source
    names = listed(flow.name(leaf) for leaf in leaves)
    return Case(
        kind="zero-gradient",
        message=f"{names} get{'s' if len(leaves) == 1 else ''} a gradient of zero: {flow.events[born].op}{at(source)} "
        f"puts inf or -inf in, and {event.op}{at(event.source)} is flat for what comes of it, whatever the other "
        "entries are.",
        remedy="use the other infinity for what is to be left out, so that a maximum or minimum does not pick it, or "
        "leave these entries out by an index",
        source=source,
        op=flow.events[born].op,
        subjects=frozenset(leaves),
    )


def _makes_infinity(flow: Flow, call: int) -> bool:
    """Whether something infinite came out of a call and none of what is known to have gone in was."""
    made = [end for limits in flow.events[call].data.get("range", ()) for end in limits or ()]
    given = [end for limits in known_limits(flow, call) for end in limits]
    return any(end is not None and math.isinf(end) for end in made) and not any(
        end is not None and math.isinf(end) for end in given
    )
