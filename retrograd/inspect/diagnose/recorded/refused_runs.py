"""Losses without a graph: those that backward refused, and those of a program that asked before and let it be."""

from __future__ import annotations

from ..phrases import NO_GRAPH
from .flow import Flow
from .runs import Run


def run_without_graph(flow: Flow) -> Run | None:
    """Return the backward run that had no graph to run through, or the one that a program never tried.

    ``if loss.requires_grad: loss.backward()`` lets an optimizer step with no gradient at all.
    """
    refused = next((run for run in flow.runs if NO_GRAPH in run.error), None)
    return refused or _never_tried(flow)


def _never_tried(flow: Flow) -> Run | None:
    """Return a run from the last number before an optimizer's step, if none of its steps followed any gradient."""
    idle = not flow.given_by_hand and not any(run.accumulates for run in flow.runs) and not flow.error_text
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
    floating = (one for one in kept if flow.facts(one).dtype.startswith(("float", "bfloat")))
    return next((one for one in floating if flow.facts(one).shape in ((), (1,))), None)
