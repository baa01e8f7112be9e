"""Frozen parameters that a program means to thaw by an attribute that switches nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ....events import Event
from ...base import Case
from ...recorded.flow import Flow
from ...words import at, listed

_SWITCH = "requires_grad"


def thawed_in_vain(flow: Flow) -> Iterator[Case]:
    """Yield a case for each module or parameter that was told to require a gradient where it does not listen.

    A module has no ``requires_grad``, and no tensor has one that is spelled otherwise; Python keeps both as they are.
    """
    told: set[int] = set()
    for _, event in flow.of_kind("stray"):
        used = [leaf for leaf in event.data.get("inputs", ()) if flow.used_in.get(leaf)]
        leaves = [leaf for leaf in used if flow.switched_off(leaf) is not None or not flow.requires_grad(leaf)]
        if event.data.get("value") and leaves and not told.issuperset(leaves):
            told.update(leaves)
            yield _case(flow, event, leaves)


def _case(flow: Flow, event: Event, leaves: list[int]) -> Case:
    """Return the case of one attribute."""
    path = event.data.get("path", "")
    frozen = flow.frozen_at(leaves[0])
    names = listed(flow.name(leaf) for leaf in leaves)
    if event.op == _SWITCH:
        why = "a module has no such switch, and its parameters do not hear of it"
        remedy = "call requires_grad_(True) on the module, which switches all its parameters"
    else:
        why = f"the switch is called {_SWITCH}, and an attribute of another name is only kept"
        remedy = f"set .{_SWITCH} = True"
    return Case(
        kind="frozen-parameter",
        message=f"{names} stay frozen (requires_grad switched off{at(frozen)}): {event.op} = True{at(event.source)} on "
        f"{path.replace('/', '.')} switches nothing; {why}.",
        remedy=remedy,
        source=event.source or frozen,
        op=event.op,
        subjects=frozenset(leaves),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )
