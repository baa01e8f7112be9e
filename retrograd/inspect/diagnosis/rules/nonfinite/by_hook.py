"""Hooks of the program that hand on a NaN or an infinity in place of the finite gradient that they were given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ....graphs.graph import Graph
from ....recording.events import Event
from ...base import Case
from ...facts.flow import Flow
from ...facts.hooks import hangs_on
from ...facts.nodes import call_of
from ...facts.runs import Run
from ...text.words import at, function_name, listed

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
    """The hooks that replaced gradients in one backward run of which there is a graph."""

    def __init__(self, flow: Flow, run: Run, spoiled: Callable[[Graph, int], object] = bad_made) -> None:
        """``spoiled`` says whether what a node passed on is what is looked for: not finite, unless it is given."""
        self._flow, self._run, self._snapshot, self._spoiled = flow, run, flow.graph_of(run), spoiled
        ran = [event for _, event in flow.of_kind("hook", action="ran") if event.data.get("run") == run.number]
        self._ran = [event for event in ran if event.data.get("returned") or event.data.get("in_place")]

    def before(self, node: int) -> list[Event]:
        """Return the hooks, one of which makes what arrives at a node something else than was passed on to it."""
        sources = self._leading.get(node, ())
        if not sources or any(self._spoiled(self._snapshot, source) for source in sources):
            return []
        if _OF_MODULES in (self._snapshot.op[one] for one in (node, *sources)):
            return self._of_module()
        tensors = self._tensors(node) if self._ran else set()
        ends = {("node-pre", self._number(node))} | {("node", self._number(source)) for source in sources}
        return [one for one in self._ran if one.data.get("tensor") in tensors or (one.op, one.data.get("node")) in ends]

    def within(self, node: int) -> list[Event]:
        """Return the hooks that a node stands for, which is there to run those of a module."""
        return self._of_module() if self._snapshot.op[node] == _OF_MODULES else []

    def _of_module(self) -> list[Event]:
        """Return the backward hooks of modules: which of them a node runs is not told."""
        return [event for _, event in self._flow.of_kind("hook", action="registered") if hangs_on(event) == "module"]

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
        message=f"{words} is given a finite gradient and hands on one that is {'NaN' if nan else 'infinite'}: the "
        "first bad gradient is born there in backward.",
        remedy=f"let {name} return finite numbers: look at what it divides by and multiplies with, or take it off",
        source=began.source,
        op="register_hook",
        subjects=frozenset(hook.data["tensor"] for hook in hooks if hook.data.get("tensor") is not None),
    )


def named_hooks(flow: Flow, hooks: list[Event]) -> tuple[str, str, Event]:
    """Return the name of a hook, what to call it with where it hangs and its line, and its registration.

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
    """Return what to call a hook: its name, what it hangs on and the line that registered it."""
    tensor = hook.data.get("tensor")
    on = f"the {hook.data['type']} module" if "type" in hook.data else "a node"
    on = on if tensor is None else flow.name(tensor, hook.source)
    return f"hook {_name(hook)} on {on}, registered{at(hook.source)}"
