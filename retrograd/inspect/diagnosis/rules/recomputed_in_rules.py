"""Custom Functions whose backward computes forward again, and draws other random numbers than forward did."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case
from ..facts.call_inputs import draws_numbers, other_sums
from ..facts.flow import Flow
from ..facts.runs import Run
from ..text.words import at
from ..thresholds import RECOMPUTATIONS_ASKED


def recomputed(flow: Flow) -> Iterator[Case]:
    """Yield a case for each Function that differentiates another draw than the one it returned."""
    forwards = {(one.op, one.data.get("node")): (row, one) for row, one in flow.of_kind("function", action="forward")}
    rules = list(flow.of_kind("function", action="backward"))
    looked_at: Counter[str] = Counter()
    outer: Run | None = None
    for run in flow.runs:
        if not run.nested:
            outer = run
            continue
        place = bisect_right(rules, run.end, key=lambda one: one[0])
        rule = rules[place][1] if place < len(rules) else None
        known = None if rule is None else forwards.get((rule.op, rule.data.get("node")))
        if outer is None or rule is None or known is None or looked_at[rule.op] == RECOMPUTATIONS_ASKED:
            continue
        looked_at[rule.op] += 1
        draw = _other_draw(flow, *known, run, outer)
        if draw is not None:
            looked_at[rule.op] = RECOMPUTATIONS_ASKED
            yield _case(flow, known[1], rule, run, draw)


def _other_draw(flow: Flow, row: int, forward: Event, run: Run, outer: Run) -> int | None:
    """Return the first call of a recomputation with other values than in forward, if it draws numbers."""
    first = [call for out in forward.data.get("outputs", ()) if (call := flow.last_producer(out, row)) is not None]
    again = flow.last_producer(run.roots[0], run.begin) if len(run.roots) == 1 else None
    if again is None or _place(flow, again) not in {_place(flow, one) for one in first}:
        return None  # it does not end as forward does
    theirs = _calls(flow, run.roots[0], run.begin, outer.begin)
    places = {_place(flow, call) for call in theirs}
    mine = [call for call in _calls(flow, flow.outputs(first[0])[0], row, -1) if _place(flow, call) in places]
    common = {_place(flow, call) for call in mine}
    theirs = [call for call in theirs if _place(flow, call) in common]
    for one, other in zip(mine[-len(theirs) :], theirs, strict=False):
        if _place(flow, one) != _place(flow, other):
            return None
        if other_sums(flow.events[one], flow.events[other]):
            return other if draws_numbers(flow.events[other]) else None
    return None


def _place(flow: Flow, row: int) -> tuple[SourceLine | None, str]:
    return flow.events[row].source, flow.events[row].op


def _calls(flow: Flow, tensor: int, before: int, since: int) -> list[int]:
    """Return the calls whose values went into a tensor, since a row."""
    return sorted(call for call in flow.behind([tensor], before, gradients=False).calls if call > since)


def _case(flow: Flow, forward: Event, rule: Event, run: Run, draw: int) -> Case:
    """Return the case of one Function."""
    event, name = flow.events[draw], rule.op
    file, begin, function = rule.data.get("backward_line") or ("", 0, "")
    inside = (one for one in flow.lines(draw) if (one.file, one.function) == (file, function) and one.line >= begin)
    source = next(inside, run.source)
    return Case(
        kind="wrong-backward",
        message=f"{name}.backward computes again{at(source)} what {name}, applied{at(forward.source)}, had computed in "
        f"forward, and {event.op}{at(event.source)} draws other random numbers there: the gradient is that of another "
        "forward pass.",
        remedy="keep torch.get_rng_state() in forward, and set it in backward before computing again, within "
        "torch.random.fork_rng(); or torch.utils.checkpoint, which does so",
        source=source,
        op=name,
    )
