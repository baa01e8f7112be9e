"""Where the first NaN or infinity of a bad loss or gradient was born: in the data, in forward, or in backward."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import prod
from typing import Any

from ...snapshot import GraphSnapshot
from ..base import Case, Check, Kind, Stage
from ..finite import Finiteness, bad_runs, state_of
from ..flow import Flow
from ..runs import Run
from ..spelling import is_call, is_name
from ..words import at, operator_word, place
from .bad_data import FILLING, came_with_data, from_bad_data, has_infinity, has_nan, in_data
from .depth import grown

KINDS = {
    "nan-origin": Kind("the operation where the first NaN or Inf is born", "error", Stage.VALUES),
    "nan-input": Kind("the NaN is in the data", "error", Stage.VALUES),
    "overflow": Kind("finite in float32, infinite in the dtype used", "error", Stage.VALUES),
}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38}
_WITHOUT_POLES = frozenset(
    {"add", "sub", "mul", "neg", "sum", "mean", "matmul", "mm", "bmm", "mv", "linear", "addmm", "baddbmm", "einsum"}
    | {"to", "float", "half", "bfloat16", "double", "type", "square"}
)
"""What has a finite slope at every finite input."""
_HIDING = frozenset({"where", "masked_fill", "nan_to_num", "max", "min", "maximum", "minimum", "clamp", "getitem"})
_BLOWN_UP = 1e6
"""Inputs of a call that overflows because something else had grown already."""
_GROWING = frozenset(
    {"add", "mul", "sum", "cumsum", "prod", "cumprod", "pow", "square", "exp", "norm", "mean", "var", "std"}
    | {"matmul", "mm", "bmm", "mv", "dot", "einsum", "linear", "addmm", "baddbmm", "to", "half", "bfloat16"}
)
"""What makes an infinity of finite numbers only by their size; a quotient or logarithm has poles besides."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the first run that went bad, unless a scaler that looks for its scale takes care of it."""
    bad = list(bad_runs(flow))
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


def _of_run(flow: Flow, states: Finiteness, run: Run) -> Case | None:
    """Return the case of one run that went bad."""
    behind = sorted(flow.behind(run.roots, run.begin, gradients=False).calls)
    row = _birth(flow, states, behind)
    case = None
    if row is not None and came_with_data(flow, states, row):
        case = in_data(flow, states, behind, has_infinity)
    elif row is not None:
        case = _in_forward(flow, states, row, run)
    case = case or in_data(flow, states, behind, has_nan) or in_data(flow, states, behind, has_infinity)
    case = case or _in_backward(flow, run)
    return None if row is not None and _blown_up(flow, states, row, run) else case


def _skipped(flow: Flow, run: Run, bad: list[Run]) -> bool:
    """Whether nothing was stepped after a run, and another of the same line was finite: a scaler found its scale."""
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
    """Whether a call overflows after a step whose gradients had exploded, which is reported as such."""
    grew = states.made[row].inf and _largest_input(flow, row) >= _BLOWN_UP
    if states.made[row].nan or not grew:
        return False
    earlier = (one for one in flow.runs if one.end < run.begin and one.snapshot is not None and not one.nested)
    return any(
        case.kind == "exploding"
        for one in earlier
        if {"order", "grad_norm", "out_norm"} <= set(flow.recording.snapshots[one.snapshot or 0].measures)
        for case in grown(flow, one, flow.recording.snapshots[one.snapshot or 0])
    )


CHECK = Check("nonfinite", KINDS, find)


def _swallowed(flow: Flow) -> Iterator[Case]:
    """Yield the case of an overflow in half precision that a later division or mask took out of sight again."""
    if not any(facts.dtype in _LARGEST for facts in flow.tensors):
        return
    states = Finiteness(flow)
    for run in flow.runs:
        for row in sorted(flow.behind(run.roots, run.begin, gradients=False).calls & states.made.keys()):
            if flow.events[row].op.strip("_") in _GROWING and _bears(flow, states, row, nan=False):
                case = _in_forward(flow, states, row, run)
                if case.kind == "overflow":
                    yield case
                    return


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
    """Whether a call made the first NaN (or the first infinity) of inputs that had none."""
    made = states.made.get(row)
    if made is None or flow.events[row].op.strip("_") in FILLING or not flow.inputs(row):
        return False
    given = states.given.get(row, {}).values()
    if nan:
        return made.nan and not any(state.nan for state in given)
    return made.inf and not any(state.bad for state in given)


def _in_forward(flow: Flow, states: Finiteness, row: int, run: Run) -> Case:
    """Return the case of a call that bore the first bad value."""
    event = flow.events[row]
    made = states.made[row]
    outputs = event.data.get("outputs", [])
    dtype = flow.facts(outputs[0]).dtype if outputs else ""
    marks = flow.marks(run, [row], "the first bad value is born here")
    what = f"{_expression(flow, row)}{at(event.source)}"
    if dtype in _LARGEST and made.inf:
        return Case(
            kind="overflow",
            message=f"{what} exceeds the largest {dtype} number {_LARGEST[dtype]:g} (inputs up to "
            f"{_largest_input(flow, row):g}) and overflows to {made.signs}.",
            remedy=f"compute this in float32: {_input_names(flow, row)[0]}.float()",
            source=event.source,
            op=event.op,
            marks=marks,
            evidence={"dtype": dtype, "values": event.data.get("values", {})},
        )
    value = "NaN" if made.nan else made.signs
    hidden = _hidden_by(flow, row, states)
    effect = (
        f"; {hidden} hides it in forward, but zero times its slope is NaN in backward" if hidden else
        f"; it is the first bad value behind {flow.root_name(run)}"
    )  # fmt: skip
    return Case(
        kind="nan-origin",
        message=f"{what} makes the first {value}{_where(flow, row)}{_why(flow, states, row)}{effect}.",
        remedy=_remedy(flow, states, row, hidden),
        source=event.source,
        op=event.op,
        marks=marks,
        evidence={"step": _step(flow, run), "values": event.data.get("values", {})},
    )


def _expression(flow: Flow, row: int) -> str:
    """Return a call as the user would write it: ``log(v)``."""
    event = flow.events[row]
    return f"{event.op}({', '.join(_input_names(flow, row)) or '...'})"


def _input_names(flow: Flow, row: int) -> list[str]:
    """Return what a call's line calls its inputs."""
    event = flow.events[row]
    function = event.source.function if event.source else None
    names = event.data.get("names", [])
    spelled = [name for name in names if name]
    return spelled or [flow.name(tensor, function) for tensor in flow.inputs(row)] or ["x"]


def _summary(flow: Flow, row: int) -> dict[str, Any]:
    """Return the summary of a call's first bad result."""
    data = flow.events[row].data
    found = [data.get("values", {}).get(str(out)) for out in data.get("outputs", ())]
    return next((one for one in found if one and (one.get("nan") or one.get("inf"))), {})


def _where(flow: Flow, row: int) -> str:
    """Return at which index a bad value stands."""
    index = _summary(flow, row).get("first_bad")
    return f" at index {tuple(index)}" if index else ""


def _why(flow: Flow, states: Finiteness, row: int) -> str:
    """Return what the inputs held."""
    given = states.given.get(row, {})
    source = flow.events[row].source
    function = source.function if source else None
    infinite = {tensor: state for tensor, state in given.items() if state.inf}
    if infinite:
        tensor, state = next(iter(infinite.items()))
        rows = _summary(flow, row).get("bad_rows", [])
        nans = _summary(flow, row).get("first_bad", [])
        lost = f"row {nans[0]} of {flow.name(tensor, function)}" if len(nans) > 1 else flow.name(tensor, function)
        whole = " is all masked" if state.signs == "-inf" and rows else " holds"
        return f" ({lost}{whole} {state.signs}: {state.signs} combined with {state.signs} has no value)"
    limits = [state_of(limit) for limit in _ranges(flow, row)]
    known = [state for state in limits if not state.bad]
    if not known:
        return ""
    least, most = f"{known[0].least:g}", f"{known[0].most:g}"
    return f" (its input is {least})" if least == most else f" (its input is between {least} and {most})"


def _ranges(flow: Flow, row: int) -> list[Any]:
    """Return ``[min, max]`` of a call's inputs, as recorded by the calls that made them."""
    found = []
    for tensor in flow.inputs(row):
        made = flow.last_producer(tensor, row, lambda call: "range" in flow.events[call].data)
        if made is not None:
            data = flow.events[made].data
            outputs = data.get("outputs", [])
            place_in = outputs.index(tensor) if tensor in outputs else 0
            found += data["range"][place_in : place_in + 1]
    return found


def _largest_input(flow: Flow, row: int) -> float:
    """Return the largest absolute finite input."""
    ends = [abs(end) for limit in _ranges(flow, row) if limit for end in limit if end is not None]
    return max((end for end in ends if math.isfinite(end)), default=math.nan)


def _hidden_by(flow: Flow, row: int, states: Finiteness) -> str:
    """Return the call that took a bad value and gave finite ones: ``where at train.py:12``."""
    for call in sorted(flow.descendants(flow.outputs(row), row, states.made.__contains__).calls):
        if flow.has_node(call) and call not in states.made and flow.events[call].op.strip("_") in _HIDING:
            return f"{flow.events[call].op}{at(flow.events[call].source)}"
    return ""


def _remedy(flow: Flow, states: Finiteness, row: int, hidden: str) -> str:
    """Return how to avoid it."""
    op = flow.events[row].op.strip("_")
    name = _input_names(flow, row)[0]
    if any(state.inf for state in states.given.get(row, {}).values()):
        return "do not mask a complete row, or mask with a large negative number such as -1e9 in place of -inf"
    if hidden.startswith("where"):
        return f"make the input safe before {op}: safe = torch.where(mask, {name}, 1.0), then {op}(safe)"
    name = _whole(name)
    if op in ("std", "var") and (_of_single_entries(flow, row) or not _varies(flow, row)):
        return f"{op} of a single entry has no value: leave such a batch out, or use unbiased=False"
    if op in ("div", "true_divide") and len(names := _input_names(flow, row)) > 1:
        return f"keep the divisor away from zero: {_whole(names[0])} / {_whole(names[1])}.clamp(min=1e-6)"
    if op in ("log", "sqrt", "rsqrt", "div", "true_divide", "reciprocal", "pow", "log2", "log10"):
        return f"keep {name} away from zero: {op}({name}.clamp(min=1e-6)), or add a small epsilon"
    if op in ("exp", "cosh", "sinh", "expm1"):
        return f"subtract the maximum before {op}, or use logsumexp / log_softmax"
    return f"check the inputs of {op} for values outside its domain"


def _whole(name: str) -> str:
    """Return a spelling that a method can be called of."""
    return name if is_name(name) or is_call(name) else f"({name})"


def _of_single_entries(flow: Flow, row: int) -> bool:
    """Whether a reduction left as many entries as it was given."""
    sizes = [prod(flow.facts(one).shape) for one in (*flow.inputs(row)[:1], *flow.outputs(row)[:1])]
    return len(sizes) == 2 and sizes[0] == sizes[1]


def _varies(flow: Flow, row: int) -> bool:
    """Whether a call's input has more than one value."""
    return any(state.least != state.most for state in map(state_of, _ranges(flow, row)))


def _safe_call(op: str, name: str) -> str:
    """Return a call that keeps its input off the points without a slope."""
    if op in ("acos", "asin", "arccos", "arcsin", "atanh", "arctanh"):
        return f"{op}({name}.clamp(-1 + 1e-6, 1 - 1e-6))"
    return f"{op}({name} + 1e-12)"


def _step(flow: Flow, run: Run) -> int:
    """Return which time the line called backward."""
    return [one.number for one in flow.runs if one.source == run.source].index(run.number)


def _in_backward(flow: Flow, run: Run) -> Case | None:
    """Return the case of the node that made the first bad gradient of finite ones."""
    if run.snapshot is None:
        return None
    snapshot = flow.recording.snapshots[run.snapshot]
    measures = snapshot.measures
    order = measures.get("order")
    if not order or "out_nan_count" not in measures:
        return None
    ran = sorted((when, node) for node, when in enumerate(order) if when is not None)
    for _, node in ran:
        given = (measures["nan_count"][node] or 0) + (measures["inf_count"][node] or 0)
        made = (measures["out_nan_count"][node] or 0) + (measures["out_inf_count"][node] or 0)
        if made and not given:
            return _node_case(flow, run, node)
    return None


def _dtype_of_gradient(flow: Flow, snapshot: GraphSnapshot, node: int, row: int | None) -> str:
    """Return the dtype in which a node hands on its gradient: of a cast from half precision, that of its input."""
    given = [flow.facts(tensor).dtype for tensor in flow.inputs(row)] if row is not None else []
    narrow = (dtype for dtype in given if dtype in _LARGEST)
    return next(narrow, snapshot.dtype[node] or "")


def _tamed(name: str) -> str:
    """Return what to do about a gradient that a step without poles made infinite: it had grown before."""
    return f"scale the loss down, or normalise {name}: the gradient that arrives there is too large already"


def _node_case(flow: Flow, run: Run, node: int) -> Case:
    """Return the case of a slope that is infinite or undefined."""
    snapshot = flow.recording.snapshots[run.snapshot or 0]
    seq = snapshot.seq[node]
    row = flow.call_of_node(None if seq is None else snapshot.first_seq + seq)
    source = flow.events[row].source if row is not None else snapshot.source[node]
    op = flow.events[row].op if row is not None else operator_word(snapshot.op[node])
    name = _expression(flow, row) if row is not None else op
    dtype = _dtype_of_gradient(flow, snapshot, node, row)
    kind = "overflow" if dtype in _LARGEST and not snapshot.measures["out_nan_count"][node] else "nan-origin"
    value = "NaN" if snapshot.measures["out_nan_count"][node] else "infinite"
    values = flow.events[row].data.get("values", {}) if row is not None else {}
    pole = next((one["pole"] for one in values.values() if one.get("pole")), None)
    where = f"; its input at index {tuple(pole)} lies where the slope is infinite" if pole else ""
    too_large = f" exceeds {_LARGEST[dtype]:g}, the largest {dtype} number, and overflows" if kind == "overflow" else ""
    first = _input_names(flow, row)[0] if row is not None else "x"
    return Case(
        kind=kind,
        message=f"forward is finite, but the gradient of {name}{at(source)}{too_large or f' is {value}'}{where}: the "
        "first bad gradient is born there in backward.",
        remedy=f"a smaller scale of the loss, or compute {first} in float32" if kind == "overflow" else
        _tamed(first) if pole is None and op.strip("_") in _WITHOUT_POLES else
        f"keep {first} away from the point where {op} has no slope, such as {_safe_call(op, first)}",
        source=source,
        op=op,
        marks=flow.marks(run, [row] if row is not None else [], "the first bad gradient is born here"),
        evidence={"node": f"n{node}", "place": place(source), "values": values},
    )  # fmt: skip
