"""Collectives of torch.distributed on the path from a parameter to the loss: autograd does not know of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...operators import Trait, is_a
from ...operators.collectives import Shares, derivable, shares
from ...recording.events import Event
from ..base import Case, Check
from ..facts.flow import Flow
from ..text.words import at, in_code, parameters

_MOVES = (Trait.LINEAR, Trait.SCALING, Trait.VIEW, Trait.COPY, Trait.ARRANGING, Trait.CAST)
"""Calls through which a sum over processes stays one, so that only the size of the gradient is another."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose collective takes values that a gradient should flow through."""
    seen = set()
    for row, event in flow.of_kind("collective"):
        data = event.data
        if not data.get("grad") or data.get("group_size", 1) < 2 or data.get("error") or event.source in seen:
            continue
        found, does = None, shares(event.op)
        if {Shares.SUM, Shares.SAME} <= does:
            found = _added(flow, row, event)
        elif Shares.BESIDE in does:
            found = _gathered(flow, row, event)
        if found is not None:
            seen.add(event.source)
            yield found


CHECK = Check("collectives", {}, find)


def _added(flow: Flow, row: int, event: Event) -> Case | None:
    """Return the case of a sum over processes, written into a tensor with a history, that a loss bends."""
    for tensor, required in zip(event.data["inputs"], event.data["requires_grad"], strict=True):
        if not required or flow.is_leaf(tensor):
            continue
        further = flow.descendants([tensor], after=row).calls
        for run in (run for run in flow.runs if run.begin > row):
            way = further & flow.reached_by(run).calls
            if any(not is_a(flow.events[call].op, *_MOVES) for call in way):
                into = f"{event.op} puts the sum over all ranks into {flow.name(tensor)}{at(event.source)}"
                rest = "autograd does not know: the gradient passes as if it were this rank's alone"
                return _case(flow, event, tensor, f"{into}, and {rest}")
    return None


def _gathered(flow: Flow, row: int, event: Event) -> Case | None:
    """Return the case of a tensor whose only path to a loss leads through a gathered tensor."""
    pairs = list(zip(event.data["inputs"], event.data["requires_grad"], strict=True))
    given = [tensor for tensor, required in pairs if required and not flow.is_leaf(tensor)]
    received = [tensor for tensor, required in pairs if not required]
    for run in (run for run in flow.runs if run.begin > row):
        if not any(flow.path_to(one, set(run.roots), after=row, before=run.begin) for one in received):
            continue
        for tensor in given:
            if not _elsewhere(flow, tensor, received).intersection(run.roots):
                goes = f"{flow.name(tensor)} goes on only as what {event.op} gives to ranks{at(event.source)}"
                none = flow.leaves_behind(flow.behind([tensor], row)) - flow.got_gradient
                rest = f": {parameters(map(flow.name, sorted(none)))} get none at all" if none else ""
                said = f"{goes}, which has no history: no gradient comes back from there{rest}"
                found = _case(flow, event, tensor, said)
                return replace(found, severity="error", subjects=found.subjects | none) if none else found
        return None
    return None


def _elsewhere(flow: Flow, tensor: int, received: list[int]) -> set[int]:
    """Return what the values of a tensor reach but by the calls that made room for what is received."""
    made = {call for one in received for call in flow.made_in.get(one, ())}
    return flow.descendants([tensor], follow=lambda call: call not in made).tensors


def _case(flow: Flow, event: Event, tensor: int, message: str) -> Case:
    """Return the case of one collective."""
    function = derivable(event.op)
    instead = f"torch.distributed.nn.functional.{function}(...), which has a derivative; or " if function else ""
    return Case(
        kind="broken-chain",
        severity="warning",
        message=f"{message}.",
        remedy=f"{instead}detach {in_code(flow.name(tensor))} where no gradient is meant",
        source=event.source,
        op=event.op,
        subjects=frozenset({tensor}),
    )
