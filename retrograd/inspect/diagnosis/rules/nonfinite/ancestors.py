"""The origin of one bad value: back through the calls that passed it on to the one where it arose, or to the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....operators import Trait
from ...base import Case
from ...facts.finite import Finiteness, State
from ...facts.flow import Flow
from ...text.words import at

_WORDS = {"nan": "NaN", "inf": "infinity (inf)"}


def came_with_data(flow: Flow, states: Finiteness, row: int) -> bool:
    """Whether the infinities from which a call made NaN are those of the data, not of a mask.

    A mask is of minus infinity and goes to a sum or a softmax; data is multiplied with weights.
    """
    if not from_bad_data(states, row) or any(not state.inf for state in states.given.get(row, {}).values()):
        return False
    behind = sorted({row, *flow.behind(flow.inputs(row), row, gradients=False).calls})
    first = next((call for call in behind if states.given.get(call) and flow.has_node(call)), None)
    if first is None:
        return False
    entered = states.given[first]
    data = not any(flow.has_history(tensor, first) for tensor in entered)
    weighed = flow.does(first, Trait.CONTRACTION) or _times_trained(flow, first)
    return data and (weighed or any(state.most == math.inf for state in entered.values()))


def _times_trained(flow: Flow, row: int) -> bool:
    """Whether a call is a product with something that is trained."""
    trained = (flow.has_history(one, row) or flow.requires_grad(one, row) for one in flow.inputs(row))
    return flow.does(row, Trait.PRODUCT) and any(trained)


def in_data(flow: Flow, states: Finiteness, rows: list[int], wrong: Callable[[State], bool]) -> Case | None:
    """Return the case of a tensor that was bad before any operation, if there is one."""
    for row in rows:
        given = states.given.get(row, {}).items()
        bad = [one for one, state in given if wrong(state) and not _is_computed(flow, states, one, row)]
        made = states.made.get(row)
        created = made is not None and wrong(made) and not flow.inputs(row)
        if bad or created:
            tensor = flow.events[row].data["outputs"][0] if created else _outside(flow, bad[0])
            return _data_case(flow, tensor, row, _written(flow, states, tensor, row))
    return None


def _is_computed(flow: Flow, states: Finiteness, tensor: int, before: int) -> bool:
    """Whether a call made a tensor bad, or it was used before and fine: then it is not data."""
    maker = _maker(flow, tensor, before)
    put_in = maker is None or flow.does(maker, Trait.FILLING, Trait.WRITING, Trait.ENTERING, Trait.ARRANGING)
    if not put_in and maker in states.made and flow.inputs(maker):
        return True
    uses = (row for row in flow.used_in.get(tensor, ()) if row < before and flow.events[row].data.get("range"))
    fine = any(tensor not in states.given.get(row, ()) for row in uses)
    return fine and _written(flow, states, tensor, before) is None  # as statistics, which their layer writes unseen


def _outside(flow: Flow, tensor: int) -> int:
    """Return the argument of a transform, if a tensor is only its wrapper inside."""
    while (base := flow.facts(tensor).view_of) is not None and not flow.made_in.get(tensor):
        tensor = base
    return tensor


def _written(flow: Flow, states: Finiteness, tensor: int, before: int) -> int | None:
    """Return the call that wrote a bad value into a tensor, if the program did so itself."""
    writes = (row for row in flow.writes_into(tensor) if row < before)
    return next((row for row in writes if row in states.made or _puts_bad_number(flow, row)), None)


def _puts_bad_number(flow: Flow, row: int) -> bool:
    """Whether a call fills in a plain number that is not finite, which files of recordings hold as nothing."""
    given = flow.events[row].data.get("arguments", {}).values()
    bad = any(value is None or (isinstance(value, float) and not math.isfinite(value)) for value in given)
    return bad and flow.does(row, Trait.FILLING)


def _data_case(flow: Flow, tensor: int, row: int, written: int | None) -> Case:
    """Return the case of one tensor of the data, bad from the beginning or because a call wrote into it."""
    facts = flow.facts(tensor)
    event = flow.events[row]
    users = [event, *(flow.events[call] for call in flow.used_in.get(tensor, ()))]
    summaries: list[dict[str, Any]] = [e.data["values"].get(str(tensor)) for e in users if "values" in e.data]
    summary = next(filter(None, summaries), {})
    count = next((f"{summary[key]} {word}" for key, word in _WORDS.items() if summary.get(key)), "NaN")
    value = "infinity" if "inf" in count else "NaN"
    index = f", the first at index {tuple(summary['first_bad'])}" if summary.get("first_bad") else ""
    source = (facts.source if written is None else flow.events[written].source) or event.source
    born = "written" if written is not None else "first seen" if facts.made_by is None else "created"
    what = "leaf" if flow.requires_grad(tensor) else "input"
    name = flow.name(tensor)
    taking = (e for e in users if e.kind != "read" and tensor in e.data.get("inputs", ()))
    first = next((e for e in taking if e.data.get("target") != tensor), None)  # what writes it takes it nowhere
    enters = f" and enters the graph by {first.op}{at(first.source)}" if first is not None else ""
    checked = name if flow.spelling.has_name(tensor) else "data"
    return Case(
        kind="nan-input",
        message=f"no operation made the {value}: the {what} {name}, {born}{at(source)}, already has {count} in its "
        f"data{index}{enters}.",
        remedy=f"clean the data: check torch.isfinite({checked}).all() where it is loaded",
        source=source,
        op=event.op,
        subjects=frozenset({tensor}),
        evidence={"values": summary},
    )


def has_nan(state: State) -> bool:
    """Whether a tensor held a NaN."""
    return state.nan


def has_infinity(state: State) -> bool:
    """Whether a tensor held an infinity and no NaN."""
    return state.inf


def from_bad_data(states: Finiteness, row: int) -> bool:
    """Whether a call was given infinities."""
    return any(state.inf for state in states.given.get(row, {}).values())


@dataclass(frozen=True, slots=True)
class Ancestor:
    """The origin of a bad value: a call, or a tensor that was bad before any call."""

    row: int | None
    tensor: int
    """The last tensor on the path back: the call's result, or the data."""
    user: int | None = None
    """The call that took the data."""


def ancestor(flow: Flow, states: Finiteness, tensor: int, before: int) -> Ancestor | None:
    """Follow a bad tensor back; None if the recording does not know what made it bad."""
    user: int | None = None
    while True:
        row = _maker(flow, tensor, before)
        if row is None:
            return None if user is None else Ancestor(None, tensor, user)
        bad = {one: state for one, state in states.given.get(row, {}).items() if state.bad}
        made = states.made.get(row)
        if not bad:
            if made is None or flow.does(row, Trait.FILLING) or not flow.inputs(row):
                return None if user is None else Ancestor(None, tensor, user)
            if flow.does(row, Trait.ARRANGING) and not flow.does(row, Trait.CAST):
                return None  # it computes nothing: what it was given was bad, and nobody saw that
            return Ancestor(row, tensor, user)
        if made is not None and made.nan and not any(state.nan for state in bad.values()):
            return _of_infinities(flow, states, row, tensor, bad)
        tensor, before, user = _handed_on(flow, row, tensor, bad, made), row, row


def _maker(flow: Flow, tensor: int, before: int) -> int | None:
    """Return the call that made or wrote a tensor's values, ignoring calls that raised."""
    return flow.last_producer(tensor, before, lambda row: "error" not in flow.events[row].data)


def _of_infinities(flow: Flow, states: Finiteness, row: int, tensor: int, bad: dict[int, State]) -> Ancestor:
    """Return the origin of a NaN made from infinities: what overflowed or met a pole, or the call itself."""
    for one in bad:
        found = ancestor(flow, states, one, row)
        if found is not None and found.row is not None:
            return found
    return Ancestor(row, tensor)


def _handed_on(flow: Flow, row: int, tensor: int, bad: dict[int, State], made: State | None) -> int:
    """Return the operand that a bad result comes from: the one whose bad entry has the same position."""
    worse = [one for one, state in bad.items() if state.nan] if made is None or made.nan else list(bad)
    worse = worse or list(bad)
    if len(worse) > 1 and flow.does(row, Trait.ELEMENTWISE):
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
