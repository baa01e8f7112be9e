"""Nodes of backward that made a NaN or an infinity of finite gradients: slopes without a value, or an overflow."""

from __future__ import annotations

from bisect import bisect_left

from ....graphs.graph import Graph
from ....operators import Trait, operator
from ...base import Case
from ...facts.call_inputs import LARGEST, expression, input_names
from ...facts.calls import CALLS
from ...facts.finite import Finiteness, state_of
from ...facts.flow import Flow
from ...facts.nodes import call_of, ran
from ...facts.row_table import Reached
from ...facts.runs import Run
from ...text.spelling import operand
from ...text.words import at, operator_word, place
from .ancestors import ancestor
from .cures import Sick, cure
from .in_forward import Hooks, bad_given, bad_made, call_at, drops_entries, hiding_call, hook_case, in_forward


def behind_transforms(flow: Flow, states: Finiteness, reached: Reached) -> set[int]:
    """Return the transforms' calls whose bad results a walk found without knowing their origin.

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
        elif event.kind in ("operation", "inplace") and not flow.is_gradient(row):
            break
    return stretch


def in_backward(flow: Flow, run: Run, states: Finiteness | None = None) -> Case | None:
    """Return the case of the node, or the hook on one, that made the first bad gradient from finite ones.

    With the ``states`` of tensors, of one that multiplies by what forward had made bad the case of that.
    """
    if run.snapshot is None:
        return None
    snapshot = flow.graph_of(run)
    measures = snapshot.measures
    if not measures.get("order") or "out_nan_count" not in measures:
        return None
    hooks = Hooks(flow, run)
    for node in ran(snapshot):
        given, made = bad_given(snapshot, node), bad_made(snapshot, node)
        found = hooks.before(node) if given else hooks.within(node) if made else []
        if found:
            return hook_case(flow, found, nan=bool(measures["nan_count" if given else "out_nan_count"][node]))
        if made and not given:
            row = call_of(flow, snapshot, node)
            states = states or Finiteness(flow)
            poison = None if row is None else _poisoned(flow, states, row, run)
            return poison or _node_case(flow, states, run, node)
    return None


def _poisoned(flow: Flow, states: Finiteness, row: int, run: Run) -> Case | None:
    """Return the case of what forward had made bad before a call, or in it, and masked too late."""
    bad = [one for one, state in states.given.get(row, {}).items() if state.bad]
    if not bad:
        return in_forward(flow, states, row, run) if row in states.made else None
    found = ancestor(flow, states, bad[0], row)
    if found is not None and found.row is not None:
        return in_forward(flow, states, found.row, run)
    hiding = hiding_call(flow, row, states)
    return None if hiding is None else _poisonous_data(flow, states, row, bad[0], run, call_at(flow, hiding))


def _poisonous_data(flow: Flow, states: Finiteness, row: int, tensor: int, run: Run, hidden: str) -> Case:
    """Return the case of arithmetic with values that are missing, of which the results are masked too late."""
    event, name = flow.events[row], flow.name(tensor, flow.events[row].source)
    value = "NaN" if states.given[row][tensor].nan else "infinity"
    return Case(
        kind="nan-origin",
        message=f"{expression(flow, row)}{at(event.source)} computes with the {value} that {name} holds; {hidden} "
        f"takes the result out of sight in forward, but comes too late: backward multiplies zero by {value}.",
        remedy=f"mask before {event.op}, not after it: make the input safe, safe = torch.nan_to_num({name}) or "
        f"torch.where(mask, {name}, 0.0), compute with safe, and mask the result as now",
        source=event.source,
        op=event.op,
        subjects=frozenset({tensor}),
        marks=flow.marks(run, [row], "zero times what is missing"),
    )


def in_earlier_backward(flow: Flow, run: Run) -> Case | None:
    """Return the case of the first bad gradient that ``autograd.grad`` returned and that a pass depends on.

    Whatever it was written into then, as positions and weights are, looks like data that was bad before any call.
    """
    leading: set[int] | None = None
    for earlier in flow.runs:
        if earlier.accumulates or earlier.end >= run.begin:
            continue
        case = in_backward(flow, earlier)
        if case is not None:
            leading = flow.leading_to(run.roots) if leading is None else leading
            if leading.intersection([*_given_by(flow, earlier), *come_out(flow, earlier)]):
                return case
    return None


def spoils_weights(flow: Flow, run: Run) -> bool:
    """Whether ``autograd.grad`` gave a gradient that is not finite and by which a leaf is not either."""
    given = [] if run.accumulates or run.error else [*_given_by(flow, run), *come_out(flow, run)]
    bad = [one for one in given if any(_is_given_bad(flow, one, row) for row in flow.used_in.get(one, ()))]
    calls = flow.descendants(bad, run.end).calls if bad else set()
    return any(flow.trainable(flow.outputs(row)) and _gives_bad(flow, row) for row in calls)


def _is_given_bad(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a call was given a tensor that is not finite."""
    summary = flow.events[row].data.get("values", {}).get(str(tensor), {})
    return bool(summary.get("nan") or summary.get("inf"))


def _gives_bad(flow: Flow, row: int) -> bool:
    """Whether a call's result is not finite."""
    return any(state_of(limits).bad for limits in flow.events[row].data.get("range", ()))


def _given_by(flow: Flow, run: Run) -> list[int]:
    """Return the gradients that a call of ``autograd.grad`` returned."""
    following = flow.run_after(run.end)
    end = len(flow.events) if following is None else following.begin
    rows = (row for row in range(run.end, end) if flow.is_gradient(row))
    taken = next((row for row in rows if set(flow.events[row].data.get("inputs", ())) <= set(run.inputs)), None)
    return [] if taken is None else flow.outputs(taken)


def _node_case(flow: Flow, states: Finiteness, run: Run, node: int) -> Case:
    """Return the case of a slope that is infinite or undefined, or too large for its dtype."""
    snapshot = flow.graph_of(run)
    row = call_of(flow, snapshot, node)
    source = flow.events[row].source if row is not None else snapshot.source[node]
    op = flow.events[row].op if row is not None else operator_word(snapshot.op[node])
    name = expression(flow, row) if row is not None else op
    first = input_names(flow, row)[0] if row is not None else "x"
    values = flow.events[row].data.get("values", {}) if row is not None else {}
    pole = next((one["pole"] for one in values.values() if one.get("pole")), None)
    dtype, nan = _dtype_of_gradient(flow, snapshot, node, row), snapshot.measures["out_nan_count"][node]
    where = f" Its input at index {tuple(pole)} lies where the slope is infinite" if pole else ""
    if dtype in LARGEST and not nan:
        kind, is_bad = "overflow", f"exceeds {LARGEST[dtype]:g}, the largest {dtype} number, and overflows"
        remedy = f"a smaller scale of the loss, or compute {first} in float32"
    else:
        kind, is_bad = "nan-origin", f"is {'NaN' if nan else 'infinite'}"
        zero = nan and pole is not None and not snapshot.measures["out_inf_count"][node]
        masked = zero and row is not None and _is_masked(flow, row)
        too_late = "a mask on the result comes too late" if masked else "the gradient that arrives there is zero"
        where += f", and {too_late}: zero times infinity is NaN" if zero else ""
        remedy = _remedy(flow, states, row, first, masked=bool(masked), at_pole=pole is not None)
        if snapshot.kind[node] == "function":
            remedy = f"let backward of {op} return a finite number there, or keep {first} away from that point"
    return Case(
        kind=kind,
        message=f"forward is finite, and backward too until it comes to {name}{at(source)}, whose gradient {is_bad}."
        f"{where}{'.' if where else ''}",
        remedy=remedy,
        source=source,
        op=op,
        marks=flow.marks(run, [row] if row is not None else [], "the first bad gradient is born here"),
        evidence={"node": f"n{node}", "place": place(source), "values": values},
    )


def _is_masked(flow: Flow, row: int) -> bool:
    """Whether the user of a call's result drops entries: by a mask, or zeros as factors."""
    arranged = flow.descendants(flow.outputs(row), row, follow=lambda call: flow.does(call, Trait.ARRANGING)).tensors
    users = {call for one in arranged for call in flow.used_in.get(one, ()) if call > row}
    return any(drops_entries(flow, call) for call in users)


def _dtype_of_gradient(flow: Flow, snapshot: Graph, node: int, row: int | None) -> str:
    """Return the dtype in which a node hands on its gradient: of a cast from half precision, that of its input."""
    given = [flow.facts(tensor).dtype for tensor in flow.inputs(row)] if row is not None else []
    narrow = (dtype for dtype in given if dtype in LARGEST)
    return next(narrow, snapshot.dtype[node] or "")


def _remedy(flow: Flow, states: Finiteness, row: int | None, name: str, *, masked: bool, at_pole: bool) -> str:
    """Return the fix for an undefined slope; a step without poles only passes on what had grown before."""
    if row is not None and (at_pole or operator(flow.events[row].op).poles):
        return cure(Sick(flow, states, row, masked=masked, slope=True))
    if row is not None and flow.does(row, Trait.SPECTRUM):
        name = operand(name)
        return (
            f"two eigen- or singular values of {name} are equal, or nearly, and vectors have no derivative there: "
            "compute with the values alone (torch.linalg.svdvals, eigvalsh), or keep the values apart: "
            f"{name} + torch.diag(torch.linspace(0, 1e-2, {name}.shape[-1]))"
        )
    return f"scale the loss down, or normalise {name}: the gradient that arrives there is too large already"
