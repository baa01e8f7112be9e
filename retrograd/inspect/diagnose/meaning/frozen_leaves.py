"""Leaves whose ``requires_grad`` is off: which of them a program meant to train."""

from __future__ import annotations

from ..recorded.calls import held_by
from ..recorded.flow import Flow
from ..recorded.runs import Run


def trained_then_frozen(flow: Flow, run: Run) -> dict[int, int]:
    """Return the leaves behind a loss, on this side of every cut, that were meant to train and are frozen.

    They once got gradients, or are all that an optimizer holds.
    """
    todo, seen = [(root, run.begin) for root in run.roots], set(run.roots)
    while todo:
        tensor, before = todo.pop()
        for row in flow.producers(tensor, before):
            if flow.events[row].kind == "operation":
                fresh = [given for given in flow.inputs(row) if given not in seen]
                seen.update(fresh)
                todo.extend((given, row) for given in fresh)
    held = [held_by(event) for _, event in flow.of_kind("optimizer", action="made")]
    off = [own for own in held if len(frozen_before(flow, sorted(own), run.begin)) == len(own)]
    meant = set(flow.accumulated).union(*off)
    return frozen_before(flow, sorted(seen & meant), run.begin)


def frozen_before(flow: Flow, tensors: list[int], before: int) -> dict[int, int]:
    """Return those of the tensors that were frozen by then, each with the row that froze it."""
    found = {tensor: flow.switched_off(tensor, before) for tensor in tensors}
    return {tensor: row for tensor, row in found.items() if row is not None}
