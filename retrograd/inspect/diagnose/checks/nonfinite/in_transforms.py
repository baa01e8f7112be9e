"""Calls inside transforms of ``torch.func``, whose results come out as tensors that no recorded call made."""

from __future__ import annotations

from bisect import bisect_left

from ...recorded.calls import CALLS
from ...recorded.finite import Finiteness
from ...recorded.flow import Flow, Reached
from ...recorded.runs import Run


def behind_transforms(flow: Flow, states: Finiteness, reached: Reached) -> set[int]:
    """Return the calls of transforms that gave what a walk found to be bad without knowing who made it.

    Such a tensor is seen for the first time after the transform, as one of its results.  Beside them those that
    made what the transform was given.
    """
    calls = [row for kind in CALLS for row in flow.rows.get(kind, ())]
    inside = sorted(row for row in calls if flow.events[row].data.get("transformed"))
    found: set[int] = set()
    if not inside:
        return found
    for row in reached.calls & states.given.keys():
        for tensor in states.given[row]:
            first = min(flow.used_in.get(tensor, (row,)))
            made = flow.made_in.get(tensor) or flow.facts(tensor).made_by is not None
            if not made and not flow.events[first].data.get("transformed"):
                before = inside[: bisect_left(inside, first)]
                found |= set() if found.issuperset(before[-1:]) else _last_stretch(flow, before)
    return found | _before(flow, found)


def _before(flow: Flow, inside: set[int]) -> set[int]:
    """Return the calls behind the tensors that transforms have wrapped for some calls."""
    wrapped = ((row, one, flow.facts(one).view_of) for row in inside for one in flow.inputs(row))
    given = {base: row for row, one, base in sorted(wrapped, reverse=True, key=lambda entry: entry[0])
             if base is not None and not flow.made_in.get(one)}  # fmt: skip
    found: set[int] = set()
    for base, row in given.items():
        found |= flow.behind([base], row, gradients=False).calls
    return found


def come_out(flow: Flow, run: Run) -> list[int]:
    """Return the tensors that no known call made, first seen between a run inside a transform and the next run."""
    before = flow.events[run.begin - 1].data if run.begin else {}
    following = flow.run_after(run.end)
    end = len(flow.events) if following is None else following.begin
    if not before.get("transformed"):
        return []
    taken = (one for row in range(run.end, end) if flow.events[row].kind in CALLS for one in flow.inputs(row))
    return [
        one
        for one in dict.fromkeys(taken)
        if not flow.made_in.get(one) and flow.facts(one).made_by is None and flow.used_in[one][0] > run.end
    ]


def _last_stretch(flow: Flow, rows: list[int]) -> set[int]:
    """Return the last of some calls, with those before it up to one that is not among them."""
    stretch = set(rows[-1:])
    for row in range(rows[-1] - 1, -1, -1) if rows else ():
        event = flow.events[row]
        if event.data.get("transformed"):
            stretch.add(row)
        elif event.kind in ("operation", "inplace") and event.op != "grad":
            break
    return stretch
