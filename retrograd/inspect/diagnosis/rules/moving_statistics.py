"""Running statistics of frozen layers that change because their evaluation mode was undone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import takes_batch_statistics
from ..facts.flow import Flow
from ..text.words import at, listed
from ..thresholds import ASKED_OF_A_LINE, HABIT

KINDS = {
    "moving-statistics": Kind(
        "statistics of a frozen layer move, for its mode of evaluation was undone", "warning", Stage.OMISSION
    ),
}


class _Undone(NamedTuple):
    """The switch that undid a mode, its event, and the switch that had set the mode."""

    row: int
    line: SourceLine | None
    own: Event


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that switches a module to training, and with it a frozen part of it.

    The part was put in evaluation by itself, which says that it is to stay there; who only freezes parameters may want
    statistics of the new data.
    """
    switches = [event for _, event in flow.of_kind("mode")]
    if not any(event.data.get("value") is False for event in switches):
        return
    moved: dict[SourceLine | None, list[tuple[_Undone, int]]] = {}
    for row in _normalising(flow):
        undone = _undone(flow, row)
        if undone is not None:
            moved.setdefault(undone.line, []).append((undone, row))
    for found in moved.values():
        rows = [row for _, row in found]
        if _in_several_passes(flow, rows):
            yield _case(flow, found[0][0], rows)


CHECK = Check("mode", KINDS, find)


def _normalising(flow: Flow) -> Iterator[int]:
    """Yield calls that take, and so move, the statistics of their batch by weights that are frozen."""
    asked: dict[object, int] = {}
    for kind in ("operation", "cut"):
        for row, event in flow.of_kind(kind):
            place = event.source, event.data.get("scope")
            if takes_batch_statistics(event) and asked.get(place, 0) < ASKED_OF_A_LINE and _frozen(flow, row):
                asked[place] = asked.get(place, 0) + 1
                yield row


def _frozen(flow: Flow, row: int) -> list[int]:
    """Return the weights of a call if all that it could train are frozen by then."""
    beside = flow.events[row].data.get("inputs", ())[1:]
    weights = [one for one in beside if flow.switched_off(one, row) is not None]
    return weights if not any(flow.requires_grad(one, row) for one in beside) else []


def _undone(flow: Flow, row: int) -> _Undone | None:
    """Return what undid a frozen layer's evaluation mode, if a module around it did."""
    weight = _frozen(flow, row)[0]
    switches = [
        (place, one) for place, one in flow.of_kind("mode") if place < row and weight in one.data.get("inputs", ())
    ]
    if not switches or not switches[-1][1].data.get("value"):
        return None
    last, whole = switches[-1]
    if flow.switched_off(weight, last) is None:
        return None
    for _, own in reversed(switches):
        part = set(own.data.get("inputs", ())) < set(whole.data.get("inputs", ()))
        if part and own.data.get("owner") != whole.data.get("owner"):
            return None if own.data.get("value") else _Undone(last, whole.source, own)
    return None


def _in_several_passes(flow: Flow, rows: list[int]) -> bool:
    """Whether passes that train something lie between some calls."""
    runs = {run.begin for row in rows if (run := flow.run_after(row)) is not None and run.accumulates}
    return len(runs) >= HABIT


def _case(flow: Flow, undone: _Undone, rows: list[int]) -> Case:
    """Return the case of one line that switches a module to training."""
    event, call, own = flow.events[undone.row], flow.events[rows[0]], undone.own
    layers = listed(dict.fromkeys(flow.events[row].data.get("scope", "").replace("/", ".") or call.op for row in rows))
    return Case(
        kind="moving-statistics",
        message=f"{event.op}(){at(event.source)} switches the whole {event.data.get('type', 'module')} to training, "
        f"and with it {layers}, which is frozen and was put in evaluation{at(own.source)}: its running statistics move "
        f"with each batch{at(call.source)}, and what it gives changes although none of its weights does.",
        remedy=f"call eval() of the frozen part again after {event.op}(), or in an own train() of the module",
        source=event.source,
        op=event.op,
        because=("its weights do not require grad", f"the call{at(call.source)} has training=True"),
        evidence={"layers": layers, "evaluation": own.source.line if own.source else 0},
    )
