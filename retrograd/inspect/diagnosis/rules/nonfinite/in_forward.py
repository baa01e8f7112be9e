"""Calls of forward that made a NaN or an infinity of finite values: what they were given, what hides it, the remedy."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from ...base import Case
from ...facts.call_inputs import LARGEST, expression, input_names, known_limits, largest_input
from ...facts.finite import Finiteness, state_of
from ...facts.flow import Flow
from ...facts.runs import Run
from ...text.spelling import operand
from ...text.words import at, listed, operator_word
from .cures import Sick, cure

_HALF_ASKED = re.compile(r"dtype=torch\.(float16|half|bfloat16)")
"""How a reduction is told to convert what it is given back to half precision."""
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
    hidden = hidden_by(flow, row, states)
    if hidden:
        effect = f"{hidden} hides it in forward, but comes too late: zero times its slope is NaN in backward"
    else:
        effect = f"it is the first bad value behind {flow.root_name(run)}"
    return Case(
        kind="nan-origin",
        message=f"{expression(flow, row)}{at(event.source)} makes the first {value}{_where(flow, row)}"
        f"{_why(flow, states, row)}; {effect}.",
        remedy=cure(Sick(flow, states, row, masked=hidden)),
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
    if len(known) == 1 and flow.inputs(row) and prod(flow.facts(flow.inputs(row)[0]).shape) == 1:
        return f" (its input is a single entry, {least})"
    return f" (its input is {least})" if least == most else f" (its input is between {least} and {most})"


def hidden_by(flow: Flow, row: int, states: Finiteness) -> str:
    """Return the call that took a bad value and gave finite ones: ``where at train.py:12``."""
    for call in sorted(flow.descendants(flow.outputs(row), row, states.made.__contains__).calls):
        if flow.has_node(call) and call not in states.made and states.given.get(call):
            return f"{flow.events[call].op}{at(flow.events[call].source)}"
    return ""


def _step(flow: Flow, run: Run) -> int:
    """Return which time the line called backward."""
    return [one.number for one in flow.runs if one.source == run.source].index(run.number)
