"""Where the first NaN or infinity of a bad loss or gradient arose: in the data, in forward, or in backward."""

from __future__ import annotations

from collections.abc import Iterator

from ....operators import Trait, is_a, operator
from ...base import Case, Check, Kind, Stage
from ...facts.call_inputs import LARGEST, largest_input
from ...facts.finite import Finiteness, State, bad_runs
from ...facts.flow import Flow
from ...facts.runs import Run
from ...queries.depth import grown
from ...queries.overshoot import overshoots
from ...thresholds import CANCELLING, GROWN_BEFORE
from .ancestors import Ancestor, ancestor, came_with_data, from_bad_data, has_infinity, has_nan, in_data
from .in_backward import behind_transforms, in_backward, in_earlier_backward, spoils_weights
from .in_forward import in_forward

KINDS = {
    "nan-origin": Kind("the operation where the first NaN or Inf is born", "error", Stage.VALUES),
    "nan-input": Kind("the NaN is in the data", "error", Stage.VALUES),
    "overflow": Kind("finite in float32, infinite in the dtype used", "error", Stage.VALUES),
}
_SIZES = (Trait.LINEAR, Trait.SCALING, Trait.CONTRACTION, Trait.REDUCTION, Trait.SCAN, Trait.EXPONENTIAL, Trait.CAST)
"""Traits of operators that make infinities of finite numbers only by overflow."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the first bad pass, unless a scaler that is searching for its scale handles it."""
    bad = list(bad_runs(flow))
    if _only_asked(flow, bad):
        bad = []
    bad = bad or [run for run in flow.runs if spoils_weights(flow, run)][:1]
    if not bad:
        yield from _swallowed(flow)
        return
    states = Finiteness(flow)
    for run in bad:
        case = _of_run(flow, states, run)
        if case is None or not (case.kind == "overflow" and _skipped(flow, run, bad)):
            if case is not None:
                yield case
            return


def _only_asked(flow: Flow, bad: list[Run]) -> bool:
    """Whether optimizers only use finite gradients, and the bad ones were only requested, for display say."""
    trained = bool(flow.optimizer_steps and flow.accumulated) and not flow.ledger.given_by_hand
    return trained and not any(run.accumulates for run in bad)


def _of_run(flow: Flow, states: Finiteness, run: Run) -> Case | None:
    """Return the case of one bad pass: behind its root, or arisen in backward."""
    root = next((one for one in run.roots if _is_bad(flow, states, one, run.begin)), None)
    found = None if root is None else ancestor(flow, states, root, run.begin)
    if root is None and (case := in_backward(flow, run, states)) is not None:
        return case
    if found is None or (found.row is None and _came_out(flow, found.tensor)):
        return _somewhere_behind(flow, states, run)
    if found.row is not None and _blown_up(flow, states, found.row, run):
        return None
    if found.row is not None and not came_with_data(flow, states, found.row):
        earlier = in_earlier_backward(flow, run) if from_bad_data(states, found.row) else None
        return earlier or in_forward(flow, states, found.row, run)
    return in_earlier_backward(flow, run) or in_data(flow, states, [_user(flow, states, found)], _not_finite)


def _came_out(flow: Flow, tensor: int) -> bool:
    """Whether a tensor may be a transform's result: no recorded call made it, and there were some inside."""
    transformed = any(event.data.get("transformed") for event in flow.events)
    return transformed and not flow.made_in.get(tensor) and flow.facts(tensor).made_by is None


def _is_bad(flow: Flow, states: Finiteness, tensor: int, before: int) -> bool:
    """Whether the last call that made or wrote a tensor made it bad."""
    row = flow.last_producer(tensor, before)
    return row is not None and row in states.made


def _user(flow: Flow, states: Finiteness, found: Ancestor) -> int:
    """Return the first call that used bad data on the path to what it spoiled."""
    row = found.user if found.row is None else found.row
    assert row is not None
    behind = flow.behind(flow.inputs(row), row, gradients=False).calls
    return min((one for one in (row, *behind) if states.given.get(one)), default=row)


def _not_finite(state: State) -> bool:
    return state.bad


def _somewhere_behind(flow: Flow, states: Finiteness, run: Run) -> Case | None:
    """Return the case of a run of which no single call can be followed back, as out of transforms."""
    reached = flow.values_behind(run)
    behind = sorted(reached.calls | behind_transforms(flow, states, reached))
    row = _birth(flow, states, behind)
    case = in_earlier_backward(flow, run) if row is None or from_bad_data(states, row) else None
    if case is None and row is not None and came_with_data(flow, states, row):
        case = in_data(flow, states, behind, has_infinity)
    elif case is None and row is not None:
        case = in_forward(flow, states, row, run)
    case = case or in_data(flow, states, behind, has_nan) or in_data(flow, states, behind, has_infinity)
    return None if row is not None and _blown_up(flow, states, row, run) else case


def _skipped(flow: Flow, run: Run, bad: list[Run]) -> bool:
    """Whether there was no step after a pass, and another of the same line was finite: a scaler found its scale."""
    if _is_stepped(flow, run):
        return False
    failed = {one.number for one in bad}
    later = (one for one in flow.runs if one.begin > run.end and one.source == run.source)
    return any(one.number not in failed and _is_stepped(flow, one) for one in later)


def _is_stepped(flow: Flow, run: Run) -> bool:
    """Whether an optimizer steps after a run, before the next one."""
    following = flow.run_after(run.end)
    end = len(flow.events) if following is None else following.begin
    return flow.stepped_between(run.end, end)


def _blown_up(flow: Flow, states: Finiteness, row: int, run: Run) -> bool:
    """Whether a call overflows after a step that went too far, or by gradients that explode: reported as such."""
    if any(found.row < row for _, found in overshoots(flow)):
        return True
    made, given = states.made[row], largest_input(flow, row)
    product = is_a(flow.events[row].op, Trait.SCALING, Trait.CONTRACTION)
    cancelled = made.nan and not from_bad_data(states, row) and product
    if not given >= (CANCELLING if cancelled else GROWN_BEFORE) or (made.nan and not cancelled):
        return False
    earlier = (one for one in flow.runs if one.end < run.begin and one.snapshot is not None and not one.nested)
    return any(
        case.kind == "exploding"
        for one in earlier
        if {"order", "grad_norm", "out_norm"} <= set(flow.graph_of(one).measures)
        for case in grown(flow, one, flow.graph_of(one))
    )


CHECK = Check("nonfinite", KINDS, find)


def _swallowed(flow: Flow) -> Iterator[Case]:
    """Yield the case of an overflow in half precision that a later division or mask took out of sight again."""
    if not any(facts.dtype in LARGEST for facts in flow.tensors):
        return
    states = Finiteness(flow)
    for row in sorted(flow.behind_losses.calls & states.made.keys()):
        run = flow.run_after(row)
        too_large = _narrow(flow, row) and _grows(flow.events[row].op)
        if run and too_large and _bears(flow, states, row, nan=False):
            yield in_forward(flow, states, row, run)
            return


def _grows(op: str) -> bool:
    """Whether an operator makes an infinity of finite numbers only by their size: a quotient or logarithm has poles."""
    return is_a(op, *_SIZES, Trait.EVEN) and (not operator(op).poles or is_a(op, Trait.EXPONENTIAL, Trait.REDUCTION))


def _narrow(flow: Flow, row: int) -> bool:
    """Whether a call returns half precision."""
    made = flow.events[row].data.get("outputs", ())
    return bool(made) and flow.facts(made[0]).dtype in LARGEST


def _birth(flow: Flow, states: Finiteness, rows: list[int]) -> int | None:
    """Return the call whose finite inputs became infinite and led to NaN, or the first that made NaN of infinities."""
    infinite = [row for row in rows if _bears(flow, states, row, nan=False)]
    broken = next((row for row in rows if _bears(flow, states, row, nan=True)), None)
    if broken is None:
        return infinite[0] if infinite else None
    if not from_bad_data(states, broken):
        return broken
    reached = flow.behind(flow.inputs(broken), broken, gradients=False).calls
    return next((row for row in infinite if row < broken and row in reached), broken)


def _bears(flow: Flow, states: Finiteness, row: int, *, nan: bool) -> bool:
    """Whether a call made the first NaN (or the first infinity) from inputs without any."""
    made = states.made.get(row)
    if made is None or flow.does(row, Trait.FILLING) or not flow.inputs(row):
        return False
    given = states.given.get(row, {}).values()
    if nan:
        return made.nan and not any(state.nan for state in given)
    return made.inf and not any(state.bad for state in given)
