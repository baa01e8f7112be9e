"""Failures: exceptions that ended the program or that it caught, and losses without a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...program.places import SourceLine
from ..text.phrases import NO_GRAPH
from .flow import Flow
from .runs import Run


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception, and where autograd was when it was raised."""

    text: str
    type: str
    line: SourceLine | None
    """The innermost line of the user."""
    data: dict[str, Any]
    """Data of the event that ended the program, or of a lost object; empty if the program continued."""
    run: Run | None = None
    """The innermost backward pass that it ended."""
    call: int | None = None
    """Row of the recorded call that raised it."""
    lost: bool = False
    """A queue could not send something, and the program went on without."""

    @property
    def full_text(self) -> str:
        """Its text, preceded by the worker that raised it, if any."""
        worker = self.data.get("worker")
        return f"{worker}: {self.text}" if worker else self.text

    @property
    def ended(self) -> bool:
        """Whether the program ended with it."""
        return bool(self.data) and not self.lost


def raised(flow: Flow) -> Iterator[Raised]:
    """Yield the exception that ended the program; of one that went on those that backward passes ended with.

    Before them come those for which something got lost on its way to another process.
    """
    for _, event in flow.of_kind("lost"):
        operands = {flow.name(one, event.source): one for one in event.data.get("inputs", ())}
        data = {**event.data, "operands": operands}
        yield Raised(str(event.data.get("message", "")), str(event.data.get("type", "")), event.source, data, lost=True)
    error = flow.error
    if error is not None:
        text = flow.error_text
        run = max((run for run in flow.runs if _same(run.error, text)), key=lambda run: run.begin, default=None)
        yield Raised(text, str(error.data.get("type", "")), error.source, error.data, run, _call(flow, text))
        return
    for run in flow.runs:
        if run.error and run.accumulates and not run.nested:  # what autograd.grad refuses may be a question
            kind, _, text = run.error.partition(": ")
            yield Raised(text, kind, run.source, {}, run, _call(flow, text, run))


def _same(error: str, text: str) -> bool:
    """Whether an event is about the exception with this text; it may hold the first line only."""
    message = error.partition(": ")[2]
    return bool(message) and (message == text or text.startswith(message) or text in message)


def _call(flow: Flow, text: str, run: Run | None = None) -> int | None:
    """Return the last recorded call that raised an exception of this text, in a run or at all."""
    for kind in ("operation", "inplace", "cut", "leaf", "read"):
        for row in reversed(flow.rows.get(kind, ())):
            data = flow.events[row].data
            inside = run is None or run.begin < row < run.end
            if inside and "error" in data and _same(str(data["error"]), text):
                return row
    return None


def run_without_graph(flow: Flow) -> Run | None:
    """Return the backward pass that had no graph, or the one that a program never tried.

    ``if loss.requires_grad: loss.backward()`` lets an optimizer step with no gradient at all.
    """
    refused = next((run for run in flow.runs if NO_GRAPH in run.error), None)
    return refused or _never_tried(flow)


def _never_tried(flow: Flow) -> Run | None:
    """Return a backward pass before the first optimizer step, if none of the steps followed any gradient."""
    idle = not flow.ledger.given_by_hand and not any(run.accumulates for run in flow.runs) and not flow.error_text
    if not idle or not flow.optimizer_steps:
        return None
    step = flow.optimizer_steps[-1]
    for row in range(step - 1, -1, -1):
        loss = _number_made(flow, row)
        if loss is not None:
            return Run(-1, step, step, flow.events[row].source, {"roots": [loss]})
    return None


def _number_made(flow: Flow, row: int) -> int | None:
    """Return the floating number without a history that a call made while gradients were on, if it is kept.

    It has a name, or nothing is computed from it: a function returned it.
    """
    event = flow.events[row]
    if event.kind != "operation" or flow.has_node(row) or event.data.get("grad") is False:
        return None
    made: list[int] = event.data.get("outputs", [])
    names: list[str] = event.data.get("output_names") or [""] * len(made)
    kept = (one for one, name in zip(made, names, strict=False) if name or not flow.used_in.get(one))
    floating = (one for one in kept if flow.facts(one).floating)
    return next((one for one in floating if flow.facts(one).shape in ((), (1,))), None)
