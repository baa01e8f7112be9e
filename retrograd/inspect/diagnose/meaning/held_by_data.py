"""Results that another loss of the same step holds to data: then both sides of a comparison may move."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Container, Iterator

from ..recorded.flow import Flow, Reached
from ..recorded.runs import Run
from .distance import ARRANGEMENTS, REGRESSIONS, counts_by_size

_DIFFERENCES = frozenset({"sub", "subtract", "rsub"})
_CLEARED = ("grad-cleared", "grad-zeroed")
_ELSE = 1
"""Bit of what a part of a graph was not made of."""


def steps_of(flow: Flow) -> Iterator[tuple[list[Run], set[int]]]:
    """Yield the runs whose gradients come together before the next update, and the calls that they reached."""
    ends = [row for row, event in flow.of_kind("optimizer") if event.data.get("action") in ("step", "zero_grad")]
    ends += [row for row, event in flow.of_kind("leaf") if event.data.get("change") in _CLEARED]
    ends.sort()
    together: dict[int, list[Run]] = defaultdict(list)
    for run in flow.runs:
        if run.accumulates and not run.error:
            together[bisect_left(ends, run.begin)].append(run)
    for runs in together.values():
        yield runs, set().union(*(flow.reached_by(run).calls for run in runs))


def trained_otherwise(flow: Flow, theirs: Reached, row: int, calls: set[int]) -> bool:
    """Whether another loss of the step takes what a target is made of, as that of labels does, or a twin of it."""
    for made in theirs.calls:
        for out in flow.outputs(made):
            users = calls.intersection(flow.used_in.get(out, ())) - theirs.calls
            if any(_is_elsewhere(flow, call, row) for call in users):
                return True
    return _twin_is_held(flow, theirs, row, calls)


def _is_elsewhere(flow: Flow, call: int, row: int) -> bool:
    this, other = flow.events[row], flow.events[call]
    return (other.source, other.op) != (this.source, this.op)


def _twin_is_held(flow: Flow, theirs: Reached, row: int, calls: set[int]) -> bool:
    """Whether another call compares data with what was made of the very same leaves and inputs, computed again."""
    bits = {given: 2 << place for place, given in enumerate(sorted(given_to(flow, theirs)))}
    whole = sum(bits.values())
    made_of: dict[int, int] = {}
    for call in sorted(calls - theirs.calls):
        taken = {given: made_of.get(given, bits.get(given, _ELSE)) for given in flow.inputs(call)}
        twin = any(of == whole and given in made_of for given, of in taken.items())
        if twin and _is_elsewhere(flow, call, row) and any(_is_data(flow, one, call) for one in taken.keys() - bits):
            return True
        together = 0
        for of in taken.values():
            together |= of
        made_of.update(dict.fromkeys(flow.outputs(call), together))
    return False


def given_to(flow: Flow, part: Reached) -> set[int]:
    """Return the tensors that the calls of a part of a graph took and that none of them made."""
    made = {out for call in part.calls for out in flow.outputs(call)}
    return {given for call in part.calls for given in flow.inputs(call)} - made


def _is_data(flow: Flow, tensor: int, row: int) -> bool:
    return not flow.has_history(tensor, row) and not flow.requires_grad(tensor, row)


def compared_with_data(flow: Flow, result: int, calls: set[int]) -> bool:
    """Whether a loss among calls measures how far a result, arranged at most, is from data."""
    return comes_to(flow, result, calls, ARRANGEMENTS, _measures_distance)


def comes_to(
    flow: Flow, result: int, calls: set[int], through: Container[str], wanted: Callable[[Flow, int], bool]
) -> bool:
    """Whether a result comes to a wanted call, among calls, by way of these operators at most."""
    first, end = min(calls), max(calls) + 1
    todo, seen = [result], {result}
    while todo:
        users = flow.used_in.get(todo.pop(), [])
        for call in calls.intersection(users[bisect_left(users, first) : bisect_left(users, end)]):
            if wanted(flow, call):
                return True
            if flow.events[call].op in through:
                fresh = [out for out in flow.outputs(call) if out not in seen]
                seen.update(fresh)
                todo += fresh
    return False


def _measures_distance(flow: Flow, row: int) -> bool:
    """Whether a call compares by size, and with data."""
    op = flow.events[row].op
    if op not in REGRESSIONS and not (op in _DIFFERENCES and counts_by_size(flow, row)):
        return False
    operands = flow.inputs(row)[:2]
    return len(operands) == 2 and any(_is_data(flow, given, row) for given in operands)
