"""The ancestor of one bad value: back through the calls that handed it on to the one that bore it."""

from __future__ import annotations

from dataclasses import dataclass

from ....operators import Trait, is_a
from ...recorded.finite import Finiteness, State
from ...recorded.flow import Flow
from .bad_data import FILLING


@dataclass(frozen=True, slots=True)
class Ancestor:
    """Where a bad value comes from: a call that bore it, or a tensor that was bad before any call."""

    row: int | None
    tensor: int
    """What held it last on the way back: the call's result, or the data."""
    user: int | None = None
    """The call that took the data."""


def ancestor(flow: Flow, states: Finiteness, tensor: int, before: int) -> Ancestor | None:
    """Follow a bad tensor back; None where the recording does not know who made it bad."""
    user: int | None = None
    while True:
        row = _maker(flow, tensor, before)
        if row is None:
            return None if user is None else Ancestor(None, tensor, user)
        bad = {one: state for one, state in states.given.get(row, {}).items() if state.bad}
        made = states.made.get(row)
        if not bad:
            if made is None or flow.events[row].op in FILLING or not flow.inputs(row):
                return None if user is None else Ancestor(None, tensor, user)
            if is_a(flow.events[row].op, Trait.ARRANGING) and not is_a(flow.events[row].op, Trait.CAST):
                return None  # it computes nothing: what it was given was bad, and nobody saw that
            return Ancestor(row, tensor, user)
        if made is not None and made.nan and not any(state.nan for state in bad.values()):
            return _of_infinities(flow, states, row, tensor, bad)
        tensor, before, user = _handed_on(flow, row, tensor, bad, made), row, row


def _maker(flow: Flow, tensor: int, before: int) -> int | None:
    """Return the call that made or wrote what a tensor held, one that raised left out."""
    return flow.last_producer(tensor, before, lambda row: "error" not in flow.events[row].data)


def _of_infinities(flow: Flow, states: Finiteness, row: int, tensor: int, bad: dict[int, State]) -> Ancestor:
    """Return the origin of a NaN that a call made of infinities: what overflowed or met a pole, or the call itself."""
    for one in bad:
        found = ancestor(flow, states, one, row)
        if found is not None and found.row is not None:
            return found
    return Ancestor(row, tensor)


def _handed_on(flow: Flow, row: int, tensor: int, bad: dict[int, State], made: State | None) -> int:
    """Return the operand that a bad result comes from: the one whose bad entry stands at the place of the result's."""
    worse = [one for one, state in bad.items() if state.nan] if made is None or made.nan else list(bad)
    worse = worse or list(bad)
    if len(worse) > 1 and is_a(flow.events[row].op, Trait.ELEMENTWISE):
        values = flow.events[row].data.get("values", {})
        place = (values.get(str(tensor)) or {}).get("first_bad")
        for one in worse:
            found = (values.get(str(one)) or {}).get("first_bad")
            if place and found and _same_place(place, found, flow.facts(one).shape):
                return one
    return worse[0]


def _same_place(place: list[int], found: list[int], shape: tuple[int, ...]) -> bool:
    """Whether an index of an operand is broadcast to an index of the result."""
    ends = zip(reversed(place), reversed(found), reversed(shape), strict=False)
    return all(size == 1 or there == here for there, here, size in ends)
