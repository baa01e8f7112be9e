"""Calls of forward that made a NaN or an infinity of finite values: what they were given, what hides it, the remedy."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from ....program.syntax import parsed_expression
from ...base import Case
from ...recorded.call_inputs import LARGEST, expression, input_names, known_limits, largest_input
from ...recorded.finite import Finiteness, state_of
from ...recorded.flow import Flow
from ...recorded.runs import Run
from ...statements.spelling import operand
from ...words import at, listed, operator_word

_HIDING = frozenset({"where", "masked_fill", "nan_to_num", "max", "min", "maximum", "minimum", "clamp", "getitem"})
"""What can take a bad value out of sight."""
_HALF_ASKED = re.compile(r"dtype=torch\.(float16|half|bfloat16)")
"""How a reduction is told to convert what it is given back to half precision."""
GROWING = frozenset(
    {"add", "mul", "sum", "cumsum", "prod", "cumprod", "pow", "square", "exp", "norm", "mean", "var", "std"}
    | {"matmul", "mm", "bmm", "mv", "dot", "einsum", "linear", "addmm", "baddbmm", "to", "half", "bfloat16"}
)
"""What makes an infinity of finite numbers only by their size; a quotient or logarithm has poles besides."""
_EXPONENTIAL = frozenset({"exp", "cosh", "sinh", "expm1"})
"""What makes one of numbers that are not large."""
_COUNTING = frozenset({"cross_entropy", "nll_loss"})
"""What averages over the targets that count."""
_POLELESS = {"pow": 1e6}
"""From which size of its input on it is the size, and no pole, that makes a result infinite."""
_MARK = "the first bad value is born here"


def in_forward(flow: Flow, states: Finiteness, row: int, run: Run) -> Case:
    """Return the case of a call that bore the first bad value: beyond its dtype, or where it has none."""
    outputs = flow.events[row].data.get("outputs", [])
    dtype = flow.facts(outputs[0]).dtype if outputs else ""
    if dtype in LARGEST and states.made[row].inf:
        return _overflow_case(flow, states, row, run, dtype)
    return _undefined_case(flow, states, row, run)


def _overflow_case(flow: Flow, states: Finiteness, row: int, run: Run, dtype: str) -> Case:
    """Return the case of a result too large for half precision."""
    event = flow.events[row]
    return Case(
        kind="overflow",
        message=f"{expression(flow, row)}{at(event.source)} exceeds the largest {dtype} number {LARGEST[dtype]:g} "
        f"(inputs up to {largest_input(flow, row):g}) and overflows to {states.made[row].signs}.",
        remedy=_in_float32(flow, row),
        source=event.source,
        op=event.op,
        marks=flow.marks(run, [row], _MARK),
        evidence={"dtype": dtype, "values": event.data.get("values", {})},
    )


def _in_float32(flow: Flow, row: int) -> str:
    """Return how to compute in float32 what overflows: its operands are to be converted, not its result."""
    event, names = flow.events[row], list(input_names(flow, row))
    converted = listed(f"{operand(name)}.float()" for name in names)
    asked = _HALF_ASKED.search(flow.spelling.text(event.source))
    again = f", and leave {asked[0]} out" if asked else ""
    return f"compute {operator_word(event.op)} in float32: {converted} in place of {listed(names)}{again}"


def _undefined_case(flow: Flow, states: Finiteness, row: int, run: Run) -> Case:
    """Return the case of a call that has no finite value for what it was given."""
    event, made = flow.events[row], states.made[row]
    value = "NaN" if made.nan else made.signs
    hidden = _hidden_by(flow, row, states)
    if hidden:
        effect = f"{hidden} hides it in forward, but zero times its slope is NaN in backward"
    else:
        effect = f"it is the first bad value behind {flow.root_name(run)}"
    return Case(
        kind="nan-origin",
        message=f"{expression(flow, row)}{at(event.source)} makes the first {value}{_where(flow, row)}"
        f"{_why(flow, states, row)}; {effect}.",
        remedy=_remedy(flow, states, row, hidden),
        source=event.source,
        op=event.op,
        marks=flow.marks(run, [row], _MARK),
        evidence={"step": _step(flow, run), "values": event.data.get("values", {})},
    )


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
    infinite = {tensor: state for tensor, state in given.items() if state.inf}
    if infinite:
        tensor, state = next(iter(infinite.items()))
        rows = _summary(flow, row).get("bad_rows", [])
        nans = _summary(flow, row).get("first_bad", [])
        lost = f"row {nans[0]} of {flow.name(tensor, source)}" if len(nans) > 1 else flow.name(tensor, source)
        whole = " is all masked" if state.signs == "-inf" and rows else " holds"
        return f" ({lost}{whole} {state.signs}: {state.signs} combined with {state.signs} has no value)"
    limits = [state_of(limit) for limit in known_limits(flow, row)]
    known = [state for state in limits if not state.bad]
    if not known:
        return ""
    least, most = f"{known[0].least:g}", f"{known[0].most:g}"
    return f" (its input is {least})" if least == most else f" (its input is between {least} and {most})"


def _hidden_by(flow: Flow, row: int, states: Finiteness) -> str:
    """Return the call that took a bad value and gave finite ones: ``where at train.py:12``."""
    for call in sorted(flow.descendants(flow.outputs(row), row, states.made.__contains__).calls):
        if flow.has_node(call) and call not in states.made and flow.events[call].operator in _HIDING:
            return f"{flow.events[call].op}{at(flow.events[call].source)}"
    return ""


def _remedy(flow: Flow, states: Finiteness, row: int, hidden: str) -> str:
    """Return how to avoid it."""
    op = flow.events[row].operator
    names = [_in_code(name, "xy"[place:]) for place, name in enumerate(input_names(flow, row)[:2])]
    name = names[0]
    if any(state.inf for state in states.given.get(row, {}).values()):
        return "do not mask a complete row, or mask with a large negative number such as -1e9 in place of -inf"
    if hidden.startswith("where"):
        return f"make the input safe before {op}: safe = torch.where(mask, {name}, 1.0), then {op}(safe)"
    if op in _COUNTING and states.made[row].nan:
        return f"{op} has no target to count, all are ignore_index or of weight zero: leave such a batch out"
    if flow.inputs(row) and not prod(flow.facts(flow.inputs(row)[0]).shape):
        return f"{name} is empty, and {op} of nothing has no value: leave such a batch out"
    name = operand(name)
    grown = largest_input(flow, row) >= _POLELESS.get(op, 0)
    if states.made[row].inf and op in GROWING - _EXPONENTIAL and grown:
        return _smaller(flow, row, op, name)
    if op in ("std", "var") and (_of_single_entries(flow, row) or not _varies(flow, row)):
        return f"{op} of a single entry has no value: leave such a batch out, or use unbiased=False"
    if op == "div" and len(names) > 1:
        return f"keep the divisor away from zero: {operand(names[0])} / {operand(names[1])}.clamp(min=1e-6)"
    if op == "div" and "0" in flow.events[row].data.get("arguments", {}):
        return f"keep {name} away from zero: divide by {name}.clamp(min=1e-6), or add a small epsilon"
    if op in ("log", "sqrt", "rsqrt", "div", "reciprocal", "pow", "log2", "log10"):
        return f"keep {name} away from zero: {op}({name}.clamp(min=1e-6)), or add a small epsilon"
    if op in _EXPONENTIAL:
        return f"subtract the maximum before {op}, or use logsumexp / log_softmax"
    return f"check the inputs of {op} for values outside its domain"


def _in_code(name: str, letters: str) -> str:
    """Return what to call an operand in a line: as the program does, or by a letter where it has no words for it."""
    return name if parsed_expression(name) is not None else letters[0]


def _smaller(flow: Flow, row: int, op: str, name: str) -> str:
    """Return what to do about numbers that are too large, which steps of an optimizer may have made of small ones."""
    smaller = (
        "take a smaller learning rate, or clip gradients" if flow.stepped_between(0, row) else f"scale {name} down"
    )
    return f"{smaller}: what {op} is given has grown beyond what it can take"


def _of_single_entries(flow: Flow, row: int) -> bool:
    """Whether a reduction left as many entries as it was given."""
    sizes = [prod(flow.facts(one).shape) for one in (*flow.inputs(row)[:1], *flow.outputs(row)[:1])]
    return len(sizes) == 2 and sizes[0] == sizes[1]


def _varies(flow: Flow, row: int) -> bool:
    """Whether a call's input has more than one value."""
    return any(state.least != state.most for state in map(state_of, known_limits(flow, row)))


def _step(flow: Flow, run: Run) -> int:
    """Return which time the line called backward."""
    return [one.number for one in flow.runs if one.source == run.source].index(run.number)
