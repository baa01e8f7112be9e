"""``why``: why the gradient of one tensor is None, zero or not finite, with the path between it and the loss."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from ..errors import NotATensorError, UsageError
from .blocks import debug, latest
from .diagnosis import Flow, about, explanation, spoiling
from .diagnosis.facts.runs import Run
from .diagnosis.rules.nonfinite.in_forward import Hooks, named_hooks
from .findings import Finding
from .gradient_paths import GradientPath, arrives, passes, path_from
from .graphs.graph import Graph
from .program.places import SourceLine, inside_words, short_place
from .recording.events import Event
from .sources import source_of
from .sources.base import Gradient

_NOWHERE: tuple[str, ...] = ()
_LONGEST = 8
"""Longest path that is shown in full; of a longer one only both ends are."""


@dataclass(frozen=True)
class Answer:
    """Why a tensor has the gradient that it has; ``str(answer)`` is the whole text."""

    state: str
    """``"none"``, ``"zero"``, ``"nonfinite"`` or ``"fine"``; ``"unreadable"`` if its values cannot be read."""
    text: str
    path: tuple[str, ...] = ()
    """Calls from the tensor towards the loss, each with its line."""
    finding: Finding | None = field(default=None)
    """The finding about this tensor."""

    def __str__(self) -> str:
        lines = [self.text]
        if self.path:
            shown = self.path
            if len(shown) > _LONGEST:
                shown = (*shown[: _LONGEST // 2], f"… {len(shown) - _LONGEST} more …", *shown[-_LONGEST // 2 :])
            lines.append("  path: " + " → ".join(shown))
        if self.finding is not None and self.finding.remedy:
            lines.append(f"  fix: {self.finding.remedy}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the whole text in a notebook."""
        shown = f'<pre style="white-space:pre-wrap">{escape(str(self))}</pre>'
        return {"text/plain": str(self), "text/html": shown}


def why(tensor: Any, trace: debug | None = None) -> Answer:
    """Return an ``Answer`` that says why the gradient of a tensor of either engine is None, zero or not finite.

    ``trace`` is the ``rg.debug()`` block in which the tensor was used, recorded at level ``"full"``; by default the
    latest one that still exists. Raises ``NotATensorError`` for anything but a tensor::

        with rg.debug() as trace:
            train_step()
        print(rg.why(model.weight, trace))
    """
    source = source_of(tensor)
    if source is None or not hasattr(tensor, "is_leaf"):
        raise NotATensorError(
            f"An object of type {type(tensor).__qualname__!r} is not a tensor.",
            "Give a tensor of retrograd or PyTorch.",
        )
    if trace is not None and not isinstance(trace, debug):
        raise UsageError(
            f"An object of type {type(trace).__qualname__!r} is not a trace.",
            "Give what rg.debug() returned, or nothing.",
        )
    gradient = source.gradient(tensor)
    state = _state(gradient)
    asked, trace = trace, latest() if trace is None else trace
    number = None if trace is None else trace.number(tensor)
    if trace is None or number is None:
        return Answer(state, _without_trace(state, gradient, asked))
    return _Seen(trace, number).answer(state, gradient)


def _state(gradient: Gradient) -> str:
    value = gradient.value
    if value is None:
        return "unreadable" if gradient.hidden else "none"
    if value.dtype.kind in "fc" and not np.isfinite(value).all():
        return "nonfinite"
    return "fine" if value.any() or not value.size else "zero"


def _basic(gradient: Gradient) -> str:
    """Return what the tensor itself shows about why it has no gradient."""
    if not gradient.requires_grad:
        return "it does not require gradients"
    if not gradient.leaf and not gradient.retains:
        return "it is not a leaf, so autograd does not keep its .grad: call retain_grad() before backward()"
    return ""


def _without_trace(state: str, gradient: Gradient, asked: debug | None) -> str:
    if state == "none":
        reason = _basic(gradient) or "no backward pass has reached it, or it was cleared since"
        text = f"The gradient is None: {reason}."
        return text if asked is None or _basic(gradient) else f"{text} {_unmet(asked)}"
    text = f"The gradient {_words(state, gradient)}."
    if asked is not None:
        return f"{text} {_unmet(asked)}"
    return (
        f"{text} To see where that comes from, record the program and keep the trace: "
        "with rg.debug() as trace: ..., then rg.why(tensor, trace)."
    )


def _unmet(trace: debug) -> str:
    """Return the answer for a tensor that does not occur in the trace."""
    if trace.level != "full":
        return f'A trace of level "{trace.level}" does not know it: record the program with rg.debug(level="full").'
    return "The trace has not met this tensor: let its block hold the calls that use it."


_WORDS = {
    "zero": "is zero everywhere",
    "nonfinite": "is not finite",
    "fine": "is finite and not zero",
    "none": "is None",
    "unreadable": "is there, but has no entries that could be read",
}


def _words(state: str, gradient: Gradient) -> str:
    """Return a sentence about a gradient."""
    return "has no entries" if gradient.value is not None and not gradient.value.size else f"{_WORDS[state]}"


_ELSEWHERE = {
    "zero": "it cancels what was in .grad before (backward adds to it), or .grad was cleared or written to.",
    "nonfinite": ".grad was so before (backward adds to it until zero_grad() clears it), or was written to.",
}
"""Possible origins of a gradient that did not arrive in the last backward pass."""


class _Seen:
    """A tensor that occurs in a recording."""

    def __init__(self, trace: debug, number: int) -> None:
        self.flow = Flow(trace.recording)
        self.number = number
        self.name = self.flow.tensors[number].name or "this tensor"

    def answer(self, state: str, gradient: Gradient) -> Answer:
        """Return the answer, from the diagnosis if one of its findings is about this tensor."""
        finding = None if state in ("fine", "unreadable") else about(self.flow, self.number)
        head = f"The gradient of {self.name} {_words(state, gradient)}"
        text, path = f"{head}.", _NOWHERE
        if state == "none":
            text, path = self._none(head, gradient)
            finding = finding or self._explained_error(gradient)
        elif state in _ELSEWHERE:
            text, path = self._in_numbers(head, state)
            finding = finding or (self._spoiled() if state == "nonfinite" and path else None)
        if finding is not None and not (state == "none" and _basic(gradient)):
            text = f"{head}: {finding.message}"
        return Answer(state, text, path, finding)

    # -- None
    def _none(self, head: str, gradient: Gradient) -> tuple[str, tuple[str, ...]]:
        """Return the answer for a gradient that is None: the reason, and the calls on the tensor's path."""
        rows, reached = self._path_forward()
        path = tuple(_event_text(self.flow.events[row]) for row in rows)
        cut = next((row for row in rows if self.flow.events[row].kind == "cut"), None)
        if _basic(gradient):
            return f"{head}: {_basic(gradient)}{'' if gradient.requires_grad else self._switched_off()}.", path
        if arrived := self.flow.accumulated.get(self.number):
            return f"{head}: what arrived in {self._run_of(arrived[-1])} {self._cleared(arrived[-1])}.", path
        if not self.flow.runs:
            return f"{head}: no backward pass was recorded.", path
        if run := self._last_reaching():
            return f"{head}: {self._not_left(run)}.", path
        if cut is not None and reached:
            event = self.flow.events[cut]
            return f"{head}: the path to the loss is cut by {_event_text(event)}.", path
        if not rows:
            return f"{head}: nothing was computed from it.", path
        return f"{head}: no backward pass started from anything computed from it; it was last used by {path[-1]}.", path

    def _switched_off(self) -> str:
        """Return the line that set ``requires_grad`` to False on the tensor, if there is one."""
        leaf_events = (event for _, event in self.flow.of_kind("leaf") if event.data.get("tensor") == self.number)
        switches = [event for event in leaf_events if event.data.get("change") == "requires_grad"]
        if not switches or switches[-1].data.get("value") is not False:
            return ""
        return f", since requires_grad was switched off{_line(switches[-1].source)}"

    def _cleared(self, row: int) -> str:
        """Return the event that removed a gradient which had arrived at the given event."""
        at = self.flow.ledger.cleared_at(self.number, len(self.flow.events))
        event = self.flow.events[at] if at > row else None
        if event is None or event.source is None:
            return "was cleared, or written to, since"
        return f"was cleared at {short_place(event.source.file, event.source.line)}{inside_words(event.source.inside)}"

    def _last_reaching(self) -> Run | None:
        """Return the last backward pass that could have given this tensor a gradient."""
        reaching = (run for run in reversed(self.flow.runs) if self.number in self.flow.reached_by(run).tensors)
        return next(reaching, None)

    def _not_left(self, run: Run) -> str:
        """Return why a backward pass that reaches this tensor left nothing in its ``.grad``."""
        words = f"backward {run.number}{_line(run.source)}"
        if run.error:
            kind = run.ended.get("error_type") or "an error"
            return f"{words} raised {kind} before it got there"
        if not run.accumulates:
            return f"{words} was no call of backward(): autograd.grad returns gradients and leaves .grad as it is"
        if run.inputs and self.number not in run.inputs:
            return f"{words} was asked for other tensors only, by inputs="
        node = self._last_that_got_one(run)
        if node is None:
            return f"{words} came by it, and brought none"
        return f"{node} is the last node on the path from {words} that got one, and passes none on"

    def _last_that_got_one(self, run: Run) -> str | None:
        """Return the last node on the path to this tensor that received a gradient."""
        if run.snapshot is None:
            return None
        snapshot = self.flow.graph_of(run)
        norms = snapshot.measures.get("grad_norm")
        rows = [row for row, name in enumerate(snapshot.name) if snapshot.kind[row] == "leaf" and name == self.name]
        if norms is None or len(rows) != 1:
            return None
        got = (row for row in path_from(snapshot, rows[0], "none").rows if norms[row] is not None)
        return next((_node_text(snapshot, row) for row in got), None)

    def _explained_error(self, gradient: Gradient) -> Finding | None:
        """Return the cause of the error that ended the block, if it kept a backward pass from reaching this tensor."""
        run = None if _basic(gradient) or self.number in self.flow.accumulated else self._last_reaching()
        ended = self.flow.error
        if run is None or ended is None or ended.data.get("message", "") not in run.error:
            return None
        return explanation(self.flow.recording)

    def _path_forward(self) -> tuple[list[int], bool]:
        """Return the events of the calls on the path from the tensor to a root, or until the path ends."""
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

    # -- zero, or not finite
    def _in_numbers(self, head: str, state: str) -> tuple[str, tuple[str, ...]]:
        """Return where in the graph of its backward pass this gradient became zero or non-finite."""
        found = self._brought(state)
        if found is None:
            return self._elsewhere(head, state), ()
        run, node = found
        if node is None:
            return f"{head}: it arrived so in backward {run.number}{_line(run.source)}.", ()
        snapshot = self.flow.graph_of(run)
        path = path_from(snapshot, node, state)
        return f"{head}{self._born(run, snapshot, path, state)}.", tuple(_node_text(snapshot, row) for row in path.rows)

    def _born(self, run: Run, snapshot: Graph, path: GradientPath, state: str) -> str:
        """Return where a gradient became zero or non-finite, as the end of a sentence."""
        if path.born is not None:
            return f": {_node_text(snapshot, path.born)} is the first that passes on such a gradient"
        if path.first is not None:
            hooks = Hooks(self.flow, run, lambda graph, row: passes(graph, row, state)).before(path.first)
            where = _node_text(snapshot, path.first)
            if hooks:
                return f": {named_hooks(self.flow, hooks)[1]} passes on such a gradient"
            return f": {where} is the first that gets such a gradient, a sum of several, or from a hook"
        return ": it is so from the start of backward on" if path.known else ""

    def _brought(self, state: str) -> tuple[Run, int | None] | None:
        """Return the backward pass that left the current ``.grad``, and the tensor's node in its graph."""
        runs = {run.number: run for run in self.flow.runs}
        arrived = self.flow.accumulated.get(self.number, ())
        cleared = self.flow.ledger.cleared_at(self.number, len(self.flow.events))
        for row in [row for row in reversed(arrived) if row > cleared]:
            data = self.flow.events[row].data
            run, norm = runs.get(data.get("run", -1)), data.get("grad_norm")
            if run is not None and norm is not None and _is(norm, data.get("grad", {}), state):
                return run, self._node(run, row)
            if state == "zero":
                return None
        return None if arrived else self._kept(state)

    def _kept(self, state: str) -> tuple[Run, int | None] | None:
        """Return the last backward pass in which a tensor that is not a leaf received a gradient in this state."""
        made = self.flow.last_producer(self.number, len(self.flow.events))
        if made is None:
            return None
        for run in reversed(self.flow.runs):
            if run.snapshot is not None:
                places = run.places(self.flow.graph_of(run))
                node = next((places[one] for one in reversed(self.flow.nodes(made)) if one in places), None)
                if node is not None and arrives(self.flow.graph_of(run), node, state):
                    return run, node
        return None

    def _node(self, run: Run, row: int) -> int | None:
        """Return the node of a leaf in the graph of a pass, matched by the order in which gradients arrive."""
        if run.snapshot is None:
            return None
        snapshot = self.flow.graph_of(run)
        order = snapshot.measures.get("order") or [None] * len(snapshot)
        leaves = [node for node, kind in enumerate(snapshot.kind) if kind == "leaf"]
        ran = sorted((when, node) for node in leaves if (when := order[node]) is not None)
        arrived = sorted(one for rows in self.flow.arrival_rows(run).values() for one in rows)
        if len(ran) == len(arrived):
            return ran[arrived.index(row)][1]
        named = [node for node in leaves if snapshot.name[node] == self.name]
        return named[0] if len(named) == 1 else None

    def _elsewhere(self, head: str, state: str) -> str:
        """Return the answer if no recorded pass produced the gradient."""
        arrived = self.flow.accumulated.get(self.number)
        if not arrived or self.flow.events[arrived[-1]].data.get("grad_norm") is None:
            return f"{head}."
        text = f"{head}, but what arrived in {self._run_of(arrived[-1])} is not: "
        cleared = self.flow.ledger.cleared_at(self.number, len(self.flow.events))
        return text + (f"it {self._cleared(arrived[-1])}." if cleared > arrived[-1] else _ELSEWHERE[state])

    def _run_of(self, row: int) -> str:
        return f"backward {self.flow.events[row].data.get('run', '')}".rstrip()

    def _spoiled(self) -> Finding | None:
        """Return the cause of the first bad backward pass, if it is the first that gave this tensor a bad gradient."""
        found = spoiling(self.flow)
        events = (self.flow.events[row].data for row in self.flow.accumulated.get(self.number, ()))
        bad = (one for one in events if _is(one.get("grad_norm"), one.get("grad", {}), "nonfinite"))
        first = next(bad, None)
        return found[1] if found is not None and first is not None and first.get("run") == found[0].number else None


def _is(norm: float | None, values: Any, state: str) -> bool:
    """Whether a gradient with this norm is zero, or non-finite."""
    if state == "zero":
        return norm == 0.0
    return (norm is not None and not np.isfinite(norm)) or bool(values.get("nan") or values.get("inf"))


def _node_text(snapshot: Graph, row: int) -> str:
    name = snapshot.name[row] if snapshot.kind[row] == "leaf" else None
    return _at(name or snapshot.op[row], snapshot.source[row])


def _event_text(event: Event) -> str:
    return _at(event.op, event.source)


def _at(what: str, line: SourceLine | None) -> str:
    return f"{what}{_line(line)}"


def _line(line: SourceLine | None) -> str:
    return "" if line is None else f" ({short_place(line.file, line.line)}{inside_words(line.inside)})"
