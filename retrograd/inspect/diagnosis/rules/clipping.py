"""Gradients that are clipped before there are any, or after the step that used them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.ledger import Step
from ..facts.optimizers import stepped_by
from ..facts.row_table import last_before
from ..facts.steps import clips
from ..text.words import at, named, times
from ..thresholds import HABIT

KINDS = {
    "unclipped-gradient": Kind(
        "gradients are clipped before `backward()` or after the step, so never those that a step uses",
        "error",
        Stage.STATEMENT,
    ),
}


@dataclass(slots=True)
class _Clipped:
    """The calls from one line."""

    rows: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    """Those of what it clips that get gradients and are stepped."""
    in_time: bool = False
    """Whether one of the calls found a gradient that a step is yet to use."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that clips without effect, each time, what nothing else clips in time."""
    yield from _of_nothing(flow)
    lines: dict[SourceLine | None, _Clipped] = {}
    clipped: set[int] = set()
    for row, event, leaves in _clips(flow):
        found = lines.setdefault(event.source, _Clipped())
        found.rows.append(row)
        found.leaves += [leaf for leaf in leaves if leaf not in found.leaves]
        waiting = any(_is_waiting(flow, leaf, row) for leaf in leaves)
        found.in_time |= waiting
        if waiting or (event.kind == "clip" and not clips(flow, event)):
            clipped.update(leaves)
    for source, found in lines.items():
        stepped = [leaf for leaf in found.leaves if flow.leaf_events.get((leaf, "step"))]
        if len(found.rows) >= HABIT and stepped and clipped.isdisjoint(found.leaves):
            yield _case(flow, source, found, stepped)
        elif (passed := _passed_over(flow, found, clipped)) is not None:
            yield _passed_over_case(flow, source, found, passed)
        elif len(scaled := _scaled(flow, found)) >= HABIT:
            yield _scaled_case(flow, source, found, scaled[0])


CHECK = Check("accumulation", KINDS, find)


def _of_nothing(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that is given an iterator with nothing left, each time, while steps are taken."""
    lines: dict[SourceLine | None, list[Event]] = {}
    for _, event in flow.of_kind("clip"):
        lines.setdefault(event.source, []).append(event)
    leaves = sorted(leaf for leaf in flow.accumulated if flow.leaf_events.get((leaf, "step")))
    for source, events in lines.items():
        spent = all(event.data.get("read_once") and not event.data.get("inputs") for event in events[1:])
        if len(events) < HABIT or not spent or not leaves:
            continue
        event, count = events[-1], len(events) - bool(events[0].data.get("inputs"))
        yield Case(
            kind="unclipped-gradient",
            message=f"{event.op}{at(source)} clips nothing, {times(count)}: it is given an iterator that "
            "was read to its end before, as can be done only once, so the gradients of "
            f"{named(flow, leaves)} are never clipped.",
            remedy="keep the parameters in a list, where the iterator is made: list(...)",
            source=source,
            op=event.op,
            subjects=frozenset(leaves),
            evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": count},
        )


def _clips(flow: Flow) -> Iterator[tuple[int, Event, list[int]]]:
    """Yield the calls that clip, and the program's own changes of gradients, with the leaves that these are of."""
    for row, event in flow.of_kind("clip"):
        yield row, event, [leaf for leaf in event.data.get("inputs", ()) if leaf in flow.accumulated]
    for leaf, rows in flow.ledger.changed.items():
        for row in rows if leaf in flow.accumulated else ():
            yield row, flow.events[row], [leaf]


def _passed_over(flow: Flow, found: _Clipped, clipped: set[int]) -> Step | None:
    """Return a step that follows a line's calls, each time one by gradients of leaves that nothing ever clips.

    The line clips what another optimizer holds, and for that it is too early or too late.
    """
    steps = flow.ledger.steps
    if found.in_time or not found.leaves or len(found.rows) < HABIT or flow.events[found.rows[0]].kind != "clip":
        return None
    places = [bisect_right(steps, row, key=lambda step: step.row) for row in found.rows]
    following = [steps[place] for place in places if place < len(steps)]
    for step, row in zip(following, found.rows, strict=False):
        waiting = [leaf for leaf in step.held if flow.ledger.fresh(step, leaf)]
        apart = clipped.isdisjoint(step.held) and step.held.keys().isdisjoint(found.leaves)
        if not waiting or not apart or any(flow.accumulated[leaf][0] > row for leaf in waiting):
            return None
    return following[0] if len(following) >= HABIT else None


def _passed_over_case(flow: Flow, source: SourceLine | None, found: _Clipped, step: Step) -> Case:
    """Return the case of one line that clips what another optimizer holds."""
    event, name = flow.events[found.rows[0]], stepped_by(flow, step.row)
    leaves = [leaf for leaf in step.held if flow.ledger.fresh(step, leaf)]
    return Case(
        kind="unclipped-gradient",
        message=f"{event.op}{at(source)} clips the gradients of {named(flow, found.leaves)}, {times(len(found.rows))}, "
        f"which no step is to use then, and {name}.step(){at(step.event.source)} follows, which uses those of "
        f"{named(flow, leaves)}: nothing ever clips these.",
        remedy=f"give {event.op} the parameters that {name} has",
        source=source,
        op=event.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(found.rows)},
    )


def _scaled(flow: Flow, found: _Clipped) -> list[int]:
    """Return the calls that clip gradients of a scaled loss, which are unscaled only after it."""
    calls = [(row, set(event.data.get("inputs", ()))) for row, event in flow.of_kind("scaling")]
    scalings = [(row, bool(given)) for row, given in calls if not given or not given.isdisjoint(found.leaves)]
    rows = [row for row in found.rows if scalings and flow.events[row].kind == "clip"]
    around = ((row, bisect_left(scalings, (row,))) for row in rows)  # of a loss, which has no leaves, and of these
    return [
        row for row, place in around if [own for _, own in scalings[max(place - 1, 0) : place + 1]] == [False, True]
    ]


def _scaled_case(flow: Flow, source: SourceLine | None, found: _Clipped, row: int) -> Case:
    """Return the case of one line that clips gradients before they are unscaled."""
    event = flow.events[row]
    unscaled = next(event for one, event in flow.of_kind("scaling") if one > row)
    return Case(
        kind="unclipped-gradient",
        message=f"{event.op}{at(source)} clips gradients of a scaled loss, {times(len(found.rows))}: they are unscaled "
        f"only afterwards{at(unscaled.source)}, so the bound is that many times too small for them.",
        remedy=f"scaler.unscale_(optimizer) before {event.op}(...)",
        source=source,
        op=event.op,
        evidence={"leaves": [flow.name(leaf) for leaf in found.leaves], "calls": len(found.rows)},
    )


def _is_waiting(flow: Flow, leaf: int, row: int) -> bool:
    """Whether a leaf may have the whole of a gradient that a step is yet to use, or that a pass is to add to.

    What the program sets by itself may be anything, and so may what comes after the last step.
    """
    if leaf in flow.ledger.given_by_hand or leaf in flow.ledger.with_closures:
        return True
    rows = flow.leaf_events.get((leaf, "step"), [])
    arrived = last_before(flow.accumulated[leaf], row)
    if last_before(rows, row) > arrived and flow.ledger.carried_on(leaf, row):
        return True  # the momentum of the next step
    used_or_gone = max(last_before(rows, row), flow.ledger.cleared_at(leaf, row))
    place = bisect_right(rows, row)
    following = rows[place] if place < len(rows) else len(flow.events)
    return arrived > used_or_gone and not flow.ledger.arrivals(leaf, row, following)


def _case(flow: Flow, source: SourceLine | None, found: _Clipped, leaves: list[int]) -> Case:
    """Return the case of one line."""
    op = _op(flow, found.rows[0])
    first = flow.leaf_events[leaves[0], "step"][0]
    step = flow.events[first]
    run = next((run for run in flow.runs if leaves[0] in flow.arrival_rows(run)), None)
    stepping = f"{stepped_by(flow, first)}.step()"
    why = f"each comes after {stepping}{at(step.source)} has used them"
    if found.rows[0] < flow.accumulated[leaves[0]][0]:
        why = f"each comes before backward{at(run.source) if run else ''} gives any"
    return Case(
        kind="unclipped-gradient",
        message=f"{op}{at(source)} clips nothing that a step uses, {times(len(found.rows))}: {why}, so the "
        f"gradients of {named(flow, leaves)} are never clipped.",
        remedy=f"in this order: backward(), then {op}(...), then {stepping}",
        source=source,
        op=op,
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(found.rows)},
    )


def _op(flow: Flow, row: int) -> str:
    """Return the call that clips; if the program assigns its own result, the call that computed it."""
    event = flow.events[row]
    made = flow.last_producer(event.data["given"], row) if event.kind == "leaf" else None
    return event.op if made is None else flow.events[made].op
