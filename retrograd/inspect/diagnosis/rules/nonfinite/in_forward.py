"""NaN and infinity that begin in forward, or in a hook."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from math import prod
from typing import Any

from ....graphs.graph import Graph
from ....operators import Trait
from ....recording.events import Event
from ...base import Case
from ...facts.call_inputs import LARGEST, expression, input_names, known_limits, largest_input, limits_of
from ...facts.finite import Finiteness, state_of
from ...facts.flow import Flow
from ...facts.hooks import target_kind
from ...facts.nodes import call_of
from ...facts.runs import Run
from ...text.spelling import operand
from ...text.words import at, function_name, listed, operator_word
from ...thresholds import GROWN_BEFORE
from .cures import Sick, cure

# Calls of forward that made a NaN or an infinity of finite values: what they were given, what hides it, the remedy.

_HALF_ASKED = re.compile(r"dtype=torch\.(float16|half|bfloat16)")
"""Matches a reduction that converts its result back to half precision."""
_MARK = "the first bad value is born here"


def in_forward(flow: Flow, states: Finiteness, row: int, run: Run) -> Case:
    """Return the case of a call where the first bad value arose: beyond its dtype, or undefined."""
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
    """Return how to compute in float32 what overflows: operands must be converted, not the result."""
    event, names = flow.events[row], list(input_names(flow, row))
    converted = listed(f"{operand(name)}.float()" for name in names)
    asked = _HALF_ASKED.search(flow.spelling.text(event.source))
    again = f", and leave {asked[0]} out" if asked else ""
    return f"compute {operator_word(event.op)} in float32: {converted} in place of {listed(names)}{again}"


def _undefined_case(flow: Flow, states: Finiteness, row: int, run: Run) -> Case:
    """Return the case of a call that has no finite value for its input."""
    event, made = flow.events[row], states.made[row]
    value = "NaN" if made.nan else made.signs
    hiding = hiding_call(flow, row, states)
    if hiding is not None:
        effect = (
            f"{call_at(flow, hiding)} hides it in forward, but comes too late: zero times its slope is NaN in backward"
        )
    else:
        effect = f"it is the first bad value behind {flow.root_name(run)}"
    return Case(
        kind="nan-origin",
        message=f"{expression(flow, row)}{at(event.source)} makes the first {value}{_where(flow, row)}"
        f"{_why(flow, states, row)}; {effect}.",
        remedy=cure(Sick(flow, states, row, masked=hiding is not None and drops_entries(flow, hiding))),
        source=event.source,
        op=event.op,
        subjects=_grown_leaves(flow, row),
        marks=flow.marks(run, [row], _MARK),
        evidence={"step": _step(flow, run), "values": event.data.get("values", {})},
    )


def _grown_leaves(flow: Flow, row: int) -> frozenset[int]:
    """Return the weights behind a call whose inputs steps have made too large: what is wrong with these explains it."""
    grown = flow.stepped_between(0, row) and largest_input(flow, row) >= GROWN_BEFORE
    behind = flow.leaves_behind(flow.behind(flow.inputs(row), row)) if grown else set()
    return frozenset(behind.intersection(flow.optimized))


def _summary(flow: Flow, row: int) -> dict[str, Any]:
    """Return the summary of a call's first bad result."""
    data = flow.events[row].data
    found = [data.get("values", {}).get(str(out)) for out in data.get("outputs", ())]
    return next((one for one in found if one and (one.get("nan") or one.get("inf"))), {})


def _where(flow: Flow, row: int) -> str:
    """Return the index of a bad value."""
    index = _summary(flow, row).get("first_bad")
    return f" at index {tuple(index)}" if index else ""


def _why(flow: Flow, states: Finiteness, row: int) -> str:
    """Return the values of the inputs."""
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


def hiding_call(flow: Flow, row: int, states: Finiteness) -> int | None:
    """Return the call that took a bad value and gave finite ones, if there is one."""
    for call in sorted(flow.descendants(flow.outputs(row), row, states.made.__contains__).calls):
        if flow.has_node(call) and call not in states.made and states.given.get(call):
            return call
    return None


def call_at(flow: Flow, row: int) -> str:
    """Return a call in words: ``where at train.py:12``."""
    return f"{flow.events[row].op}{at(flow.events[row].source)}"


def drops_entries(flow: Flow, call: int) -> bool:
    """Whether a call drops entries of what it is given: by a mask, zeros as factors, or an index."""
    data = [one for one in flow.inputs(call) if not flow.has_history(one, call) and not flow.requires_grad(one)]
    ends = [limits_of(flow, one, call) for one in data if flow.does(call, Trait.PRODUCT)]
    by_values = any(flow.facts(one).dtype == "bool" for one in data) or any(end and end[0] == 0.0 for end in ends)
    return by_values or flow.does(call, Trait.INDEXING, Trait.PART)


def _step(flow: Flow, run: Run) -> int:
    """Return which time the line called backward."""
    return [one.number for one in flow.runs if one.source == run.source].index(run.number)


# Hooks of the program that replace a finite gradient by one with a NaN or an infinity.

_OF_MODULES = "BackwardHookFunctionBackward"
"""The node that runs the full backward hooks of a module."""


def bad_given(snapshot: Graph, node: int) -> float:
    """Return how many entries that are not finite arrived at a node."""
    measures = snapshot.measures
    return (measures["nan_count"][node] or 0) + (measures["inf_count"][node] or 0)


def bad_made(snapshot: Graph, node: int) -> float:
    """Return how many entries that are not finite a node passed on."""
    measures = snapshot.measures
    return (measures["out_nan_count"][node] or 0) + (measures["out_inf_count"][node] or 0)


class Hooks:
    """The hooks that replaced gradients in one backward pass that has a graph."""

    def __init__(self, flow: Flow, run: Run, spoiled: Callable[[Graph, int], object] = bad_made) -> None:
        """``spoiled`` says whether what a node passed on is what is looked for: not finite, unless it is given."""
        self._flow, self._run, self._snapshot, self._spoiled = flow, run, flow.graph_of(run), spoiled
        ran = [event for _, event in flow.of_kind("hook", action="ran") if event.data.get("run") == run.number]
        self._ran = [event for event in ran if event.data.get("returned") or event.data.get("in_place")]

    def before(self, node: int) -> list[Event]:
        """Return the hooks that may have changed the gradient before it arrived at a node."""
        sources = self._leading.get(node, ())
        if not sources or any(self._spoiled(self._snapshot, source) for source in sources):
            return []
        if _OF_MODULES in (self._snapshot.op[one] for one in (node, *sources)):
            return self._of_module()
        tensors = self._tensors(node) if self._ran else set()
        ends = {("node-pre", self._number(node))} | {("node", self._number(source)) for source in sources}
        return [one for one in self._ran if one.data.get("tensor") in tensors or (one.op, one.data.get("node")) in ends]

    def within(self, node: int) -> list[Event]:
        """Return the hooks that a node runs for a module."""
        return self._of_module() if self._snapshot.op[node] == _OF_MODULES else []

    def _of_module(self) -> list[Event]:
        """Return the backward hooks of modules: which of them a node runs is unknown."""
        return [event for _, event in self._flow.of_kind("hook", action="registered") if target_kind(event) == "module"]

    def _number(self, node: int) -> int:
        """Return the number of a node in the whole recording, -1 for a leaf."""
        seq = self._snapshot.seq[node]
        return -1 if seq is None else self._snapshot.first_seq + seq

    def _tensors(self, node: int) -> set[int]:
        """Return the tensors whose gradient arrives at a node: results of its call, or the leaves called like it."""
        flow, snapshot = self._flow, self._snapshot
        if snapshot.kind[node] == "leaf":
            arrived = [*flow.arrivals_in(self._run), *self._run.inputs]
            alike = {one for one in arrived if flow.tensors[one].name == snapshot.name[node]}
            return alike or set(arrived)
        row = call_of(flow, snapshot, node)
        return set() if row is None else set(flow.outputs(row))

    @cached_property
    def _leading(self) -> dict[int, list[int]]:
        """For each node those that pass gradients on to it."""
        found: dict[int, list[int]] = {}
        for start, end, _, _ in self._snapshot.edges():
            found.setdefault(end, []).append(start)
        return found


def hook_case(flow: Flow, hooks: list[Event], *, nan: bool) -> Case:
    """Return the case of a hook, or of several of which one did it; its line is that which registered the first."""
    name, words, began = named_hooks(flow, hooks)
    return Case(
        kind="nan-origin",
        message=f"{words} receives a finite gradient and passes on one that is {'NaN' if nan else 'infinite'}: the "
        "first bad gradient is born there in backward.",
        remedy=f"let {name} return finite numbers: look at what it divides by and multiplies with, or take it off",
        source=began.source,
        op="register_hook",
        subjects=frozenset(hook.data["tensor"] for hook in hooks if hook.data.get("tensor") is not None),
    )


def named_hooks(flow: Flow, hooks: list[Event]) -> tuple[str, str, Event]:
    """Return the name of a hook, its description with target and line, and its registration.

    Of several it is one, and each is named.
    """
    handles = {event.data.get("handle"): event for _, event in flow.of_kind("hook", action="registered")}
    began = [handles.get(hook.data.get("handle"), hook) for hook in hooks]
    words = list(dict.fromkeys(_in_words(flow, one) for one in began))
    if len(words) > 1:
        return "it", f"one of {listed(words)}", began[0]
    return _name(began[0]), f"{words[0]},", began[0]


def _name(hook: Event) -> str:
    return function_name(hook.data.get("hook")) or "a hook"


def _in_words(flow: Flow, hook: Event) -> str:
    """Return the description of a hook: its name, target and the line that registered it."""
    tensor = hook.data.get("tensor")
    on = f"the {hook.data['type']} module" if "type" in hook.data else "a node"
    on = on if tensor is None else flow.name(tensor, hook.source)
    return f"hook {_name(hook)} on {on}, registered{at(hook.source)}"
