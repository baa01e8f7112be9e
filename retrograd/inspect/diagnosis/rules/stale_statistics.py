"""Running statistics that stay as they began, in a network whose parameters follow another one's."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import takes_batch_statistics
from ..facts.flow import Flow
from ..roles.trained import creation_row
from ..text.words import at, named
from ..thresholds import HABIT

KINDS = {
    "stale-statistics": Kind(
        "parameters of a network follow another one's, the statistics that it normalises with do not",
        "warning",
        Stage.OMISSION,
    ),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that updates parameters but not the running statistics next to them.

    A network with a layer of the same shapes normalises in training, so that its own statistics move.
    """
    reported = set()
    normalising = [row for row, event in flow.of_kind("operation") if is_a(event.op, Trait.NORMALISATION)]
    normalising += [row for row, event in flow.of_kind("cut") if is_a(event.op, Trait.NORMALISATION)]
    trained = {_shapes(flow, row) for row in normalising if takes_batch_statistics(flow.events[row]) is True}
    for row in sorted(normalising):
        event = flow.events[row]
        if takes_batch_statistics(event) is not False or _shapes(flow, row) not in trained:
            continue
        beside = event.data.get("inputs", ())[1:]
        moved = [one for one in beside if _follows(flow, one)]
        still = [one for one in beside if _never_moves(flow, one)] if moved else []
        if still and flow.accumulated.keys().isdisjoint(moved):
            line = flow.events[flow.writes_into(moved[0])[-1]].source
            if line not in reported:
                reported.add(line)
                yield _case(flow, event, moved, line)


CHECK = Check("mode", KINDS, find)


def _shapes(flow: Flow, row: int) -> tuple[object, ...]:
    """Return the key of a layer: the shapes of its operands besides its input."""
    return tuple(flow.facts(one).shape for one in flow.events[row].data.get("inputs", ())[1:])


def _never_moves(flow: Flow, tensor: int) -> bool:
    """Whether a tensor is not trained, existed before the first pass, and never changed since."""
    first = flow.runs[0].begin
    if flow.requires_grad(tensor) or not 0 <= creation_row(flow, tensor) < first or flow.written_after(tensor, first):
        return False
    if flow.leaf_events.get((tensor, "written")):
        return False
    return not any(takes_batch_statistics(flow.events[row]) for row in flow.used_in.get(tensor, ()))


def _follows(flow: Flow, tensor: int) -> bool:
    """Whether the program wrote into a tensor again and again, between backward passes."""
    runs = {run.begin for row in flow.writes_into(tensor) if (run := flow.last_begun(row)) is not None}
    return len(runs) >= HABIT


def _case(flow: Flow, event: Event, moved: list[int], line: SourceLine | None) -> Case:
    """Return the case of one network."""
    names, scope = named(flow, moved), event.data.get("scope", "").replace("/", ".")
    where = scope or event.op
    return Case(
        kind="stale-statistics",
        message=f"{names} {'follows' if len(moved) == 1 else 'follow'} another network's{at(line)}, but the running "
        f"statistics of {where}{at(event.source)} stay as they began: they are buffers, no parameters, and in "
        "evaluation mode nothing else is normalised with.",
        remedy="copy the buffers as well: for mine, theirs in zip(copy.buffers(), model.buffers()): mine.copy_(theirs)",
        source=line,
        op=event.op,
        evidence={"leaves": [flow.name(one) for one in moved]},
    )
