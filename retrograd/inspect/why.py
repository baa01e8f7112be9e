"""``why``: why the gradient of one tensor is None, zero or not finite, with the way between it and the loss."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import NotATensorError
from .debug import debug, latest
from .diagnose import Flow, about
from .events import Event
from .findings import Finding
from .places import short_place
from .snapshot import GraphSnapshot, SourceLine
from .sources import source_of
from .sources.base import Gradient

_LONGEST = 8
"""Steps of a way that are shown; of a longer one the first and last."""


@dataclass(frozen=True)
class Answer:
    """What there is to say of one tensor; ``str`` of it is the whole text."""

    state: str
    """``"none"``, ``"zero"``, ``"nonfinite"`` or ``"fine"``."""
    text: str
    path: tuple[str, ...] = ()
    """Calls from the tensor towards the loss, each with its line."""
    finding: Finding | None = field(default=None)
    """What the diagnosis says of this tensor."""

    def __str__(self) -> str:
        lines = [self.text]
        if self.path:
            shown = self.path
            if len(shown) > _LONGEST:
                shown = (*shown[: _LONGEST // 2], f"… {len(shown) - _LONGEST} more …", *shown[-_LONGEST // 2 :])
            lines.append("  way: " + " → ".join(shown))
        if self.finding is not None and self.finding.remedy:
            lines.append(f"  remedy: {self.finding.remedy}")
        return "\n".join(lines)


def why(tensor: Any, trace: debug | None = None) -> Answer:
    """Say why the gradient of a tensor of either engine is None, zero or not finite.

    ``trace`` is the ``rg.debug()`` block that saw the program, at level ``"full"``; by default the latest one, as long
    as somebody holds it.  Raises ``NotATensorError`` for anything but a tensor::

        with rg.debug() as trace:
            train_step()
        print(rg.inspect.why(model.weight, trace))
    """
    source = source_of(tensor)
    if source is None or not hasattr(tensor, "requires_grad"):
        raise NotATensorError(
            f"An object of type {type(tensor).__qualname__!r} is no tensor.", "Give a tensor of retrograd or PyTorch."
        )
    gradient = source.gradient(tensor)
    state = _state(gradient.value)
    trace = latest() if trace is None else trace
    number = None if trace is None else trace.number(tensor)
    if trace is None or number is None:
        return Answer(state, _without_trace(state, gradient))
    return _Seen(trace, number).answer(state, gradient)


def _state(gradient: Any) -> str:
    if gradient is None:
        return "none"
    if gradient.dtype.kind in "fc" and not np.isfinite(gradient).all():
        return "nonfinite"
    return "fine" if gradient.any() else "zero"


def _basic(gradient: Gradient) -> str:
    """What a tensor tells by itself of having no gradient."""
    if not gradient.requires_grad:
        return "it does not require gradients"
    if not gradient.leaf and not gradient.retains:
        return "it is no leaf, so its gradient was passed on and not kept: call retain_grad() before backward()"
    return ""


def _without_trace(state: str, gradient: Gradient) -> str:
    if state == "none":
        reason = _basic(gradient) or "no backward run has reached it"
        return f"The gradient is None: {reason}."
    return (
        f"The gradient is {_WORDS[state]}. To see where that comes from, record the program and keep the trace: "
        "with rg.debug() as trace: ..., then rg.inspect.why(tensor, trace)."
    )


_WORDS = {"zero": "zero everywhere", "nonfinite": "not finite", "fine": "finite and not zero", "none": "None"}


_ELSEWHERE = {
    "zero": "it cancels what was in .grad before (backward adds to it), or .grad was cleared or written to.",
    "nonfinite": ".grad was so before (backward adds to it until zero_grad() clears it), or was written to.",
}
"""Where a gradient comes from that did not arrive in the last backward run."""


class _Seen:
    """A tensor that a recording knows."""

    def __init__(self, trace: debug, number: int) -> None:
        self.flow = Flow(trace.recording)
        self.trace = trace
        self.number = number
        self.name = self.flow.tensors[number].name or "this tensor"

    def answer(self, state: str, gradient: Gradient) -> Answer:
        """The answer, from the diagnosis where that speaks of this tensor."""
        finding = None if state == "fine" else about(self.flow, self.number)
        if state == "none":
            text, path = self._none(gradient)
        else:
            text, path = self._in_numbers(state)
        if finding is not None and not (state == "none" and _basic(gradient)):
            text = f"The gradient of {self.name} is {_WORDS[state]}: {finding.message}"
        return Answer(state, text, path, finding)

    def _none(self, gradient: Gradient) -> tuple[str, tuple[str, ...]]:
        """The answer for a gradient that is None: the sentence, and the calls from the tensor to where its way ends."""
        head = f"The gradient of {self.name} is None"
        rows, reached = self._way_forward()
        path = tuple(_event_text(self.flow.events[row]) for row in rows)
        cut = next((row for row in rows if self.flow.events[row].kind == "cut"), None)
        if _basic(gradient):
            return f"{head}: {_basic(gradient)}.", path
        if not self.flow.runs:
            return f"{head}: no backward run was recorded.", path
        if cut is not None and reached:
            event = self.flow.events[cut]
            return f"{head}: the way to the loss is cut by {_event_text(event)}.", path
        if not rows:
            return f"{head}: nothing was computed from it.", path
        return f"{head}: no backward run started from anything computed from it; it was last used by {path[-1]}.", path

    def _way_forward(self) -> tuple[list[int], bool]:
        """Rows of the calls from the tensor to a root of a backward run, else of one of the ways that end elsewhere."""
        flow = self.flow
        roots = {root for event in flow.events if event.kind == "backward" for root in event.data.get("roots", ())}
        came: dict[int, tuple[int, int] | None] = {self.number: None}
        waiting, last = deque([self.number]), self.number
        while waiting:
            last = waiting.popleft()
            if last in roots:
                break
            for row in flow.used_in.get(last, ()):
                for made in flow.events[row].data.get("outputs", ()):
                    if made not in came:
                        came[made] = (last, row)
                        waiting.append(made)
        rows: list[int] = []
        at: int = last
        while (step := came[at]) is not None:
            at = step[0]
            rows.append(step[1])
        return rows[::-1], last in roots

    def _in_numbers(self, state: str) -> tuple[str, tuple[str, ...]]:
        """Where in the last graph with this leaf its gradient became zero or not finite."""
        head = f"The gradient of {self.name} is {_WORDS[state]}"
        for snapshot in reversed(self.trace.graphs):
            if state != "fine" and self.name in snapshot.name and snapshot.measures:
                leaf = snapshot.name.index(self.name)
                if _arrived(snapshot, leaf, state) is False:
                    return f"{head}, but what arrived in {snapshot.label or 'backward'} is not: {_ELSEWHERE[state]}", ()
                order = _way_down(snapshot, leaf)
                path = tuple(_node_text(snapshot, row) for row in reversed(order))
                born = next((row for row in order if _born(snapshot, row, state)), None)
                if born is not None:
                    return f"{head}: {_node_text(snapshot, born)} is the first that passes on such a gradient.", path
                return f"{head}: it is so from the start of backward on.", path
        return f"{head}.", ()


def _way_down(snapshot: GraphSnapshot, leaf: int) -> list[int]:
    """Rows from a root to a leaf, by a shortest way."""
    below: dict[int, list[int]] = {}
    for start, end, _, _ in snapshot.edges():
        below.setdefault(start, []).append(end)
    came: dict[int, int] = dict.fromkeys(snapshot.roots, -1)
    waiting = deque(snapshot.roots)
    while waiting and leaf not in came:
        row = waiting.popleft()
        for child in below.get(row, ()):
            if child not in came:
                came[child] = row
                waiting.append(child)
    rows, at = [], leaf
    while at in came:
        rows.append(at)
        at = came[at]
    return rows[::-1]


def _arrived(snapshot: GraphSnapshot, leaf: int, state: str) -> bool | None:
    """Whether the gradient that reached a leaf was zero, or not finite; None where that was not measured."""
    value = {name: column[leaf] for name, column in snapshot.measures.items()}
    norm = value.get("grad_norm")
    if norm is None:
        return None
    if state == "zero":
        return norm == 0.0
    return not math.isfinite(norm) or bool((value.get("nan_count") or 0) + (value.get("inf_count") or 0))


def _born(snapshot: GraphSnapshot, row: int, state: str) -> bool:
    """Whether a node passes on what it did not get."""
    value = {name: column[row] for name, column in snapshot.measures.items()}
    if state == "zero":
        return value.get("out_zero_share") == 1.0 and (value.get("zero_share") or 0.0) < 1.0
    given = (value.get("nan_count") or 0) + (value.get("inf_count") or 0)
    return not given and bool((value.get("out_nan_count") or 0) + (value.get("out_inf_count") or 0))


def _node_text(snapshot: GraphSnapshot, row: int) -> str:
    name = snapshot.name[row] if snapshot.kind[row] == "leaf" else None
    return _at(name or snapshot.op[row], snapshot.source[row])


def _event_text(event: Event) -> str:
    return _at(event.op, event.source)


def _at(what: str, line: SourceLine | None) -> str:
    return what if line is None else f"{what} ({short_place(line.file, line.line)})"
