"""Gradients that add up in ``.grad`` although they should not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.calls import held_by
from ..facts.flow import Flow
from ..facts.optimizers import stepped_by
from ..facts.row_table import first_between, last_before
from ..facts.runs import Run
from ..facts.steps import taken_gradients
from ..text.words import at, in_code, listed, times

KINDS = {
    "missing-zero-grad": Kind("`.grad` is not cleared although the leaf was updated", "error", Stage.OMISSION),
    "double-count": Kind("one loss, two backward calls into `.grad`", "error", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from _never_cleared(flow)
    yield from _counted_twice(flow)


CHECK = Check("accumulation", KINDS, find)


@dataclass(slots=True)
class _Pile:
    """Leaves whose gradients pile up from one line that calls backward."""

    source: SourceLine | None
    leaves: list[int] = field(default_factory=list)
    arrivals: int = 0
    update: int | None = None


def _never_cleared(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose gradients were added to old ones that an update had used, and used again."""
    piles: dict[SourceLine | None, _Pile] = {}
    runs = {run.number: run for run in flow.runs}
    held = flow.optimized
    for leaf, arrivals in flow.accumulated.items():
        if held and leaf not in held:
            continue  # what changes it is not a step along its gradient
        updates = flow.leaf_events.get((leaf, "step")) or _updates(flow, leaf)  # other writes use no gradient
        for stale in _stale_arrivals(flow, arrivals, updates):
            run = runs.get(flow.events[stale].data.get("run", -1))
            source = run.source if run else flow.events[stale].source
            pile = piles.setdefault(source, _Pile(source))
            if leaf not in pile.leaves:
                pile.leaves.append(leaf)
                pile.arrivals = max(pile.arrivals, len(arrivals))
                pile.update = pile.update or last_before(updates, stale)
    for pile in piles.values():
        yield _pile_case(flow, pile)


def _updates(flow: Flow, leaf: int) -> list[int]:
    """Return the rows at which a leaf's values were changed."""
    changes = (flow.leaf_events.get((leaf, change), ()) for change in ("written", "step"))
    return sorted(set(flow.writes_into(leaf)).union(*changes))


def _stale_arrivals(flow: Flow, arrivals: list[int], updates: list[int]) -> list[int]:
    """Return the arrivals that were added to a gradient of before an update, and that a later one used in turn."""
    found: list[int] = []
    stale, last = False, -1
    for place, row in enumerate(arrivals):
        data = flow.events[row].data
        if data.get("before") != "kept":
            stale = False
        elif place and (update := first_between(updates, last, row)) is not None:
            stale = not flow.ledger.changed_between(data["tensor"], update, row)  # decayed, it is a momentum
        following = arrivals[place + 1] if place + 1 < len(arrivals) else len(flow.events)
        used = first_between(updates, row, following)
        if stale and used is not None and flow.ledger.cleared_at(data["tensor"], used) <= row:
            found.append(row)
        last = row
    return found


def _pile_case(flow: Flow, pile: _Pile) -> Case:
    """Return the case of one line that piles up."""
    names = listed(f"{flow.name(leaf)}.grad" for leaf in pile.leaves)
    verb, them = ("is", "it") if len(pile.leaves) == 1 else ("are", "them")
    update = at(flow.events[pile.update].source) if pile.update is not None else ""
    mistaken = _cleared_again(flow, pile)
    clearing = _clearing(flow, pile)
    often = "again and again" if flow.recording.summarized() else times(pile.arrivals)  # not all steps were kept
    instead = (
        "" if mistaken is None else f"; {flow.spelling.text(mistaken)}{at(mistaken)} clears another one, twice a step"
    )
    return Case(
        kind="missing-zero-grad",
        message=f"{names} {verb} never cleared: backward{at(pile.source)} accumulated into {them} "
        f"{often}, although the values were updated in between{update}{instead}.",
        remedy=f"{clearing} in every step" if mistaken is None else f"{clearing} there",
        source=mistaken or pile.source,
        op="backward",
        subjects=frozenset(pile.leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in pile.leaves], "backward_calls": pile.arrivals},
    )


def _cleared_again(flow: Flow, pile: _Pile) -> SourceLine | None:
    """Return the line that clears, twice before its step, an optimizer with none of the accumulating leaves.

    Of the two lines the later one, unless the backward pass of what piles up lies between them: it was meant for that.
    """
    before: dict[object, tuple[int, Event]] = {}
    passes = [run.begin for run in flow.runs if run.source == pile.source]
    for row, event in flow.of_kind("optimizer", action="zero_grad"):
        owner = event.data.get("owner")
        earlier = before.get(owner)
        before[owner] = row, event
        if earlier is None or earlier[1].source == event.source or held_by(event).intersection(pile.leaves):
            continue
        steps = flow.ledger.optimizers[owner].steps
        if len({bisect_left(steps, one, key=lambda step: step.row) for one in (earlier[0], row)}) == 1:
            between = bisect_right(passes, earlier[0]) < bisect_left(passes, row)
            return earlier[1].source if between else event.source
    return None


def _clearing(flow: Flow, pile: _Pile) -> str:
    """Return the call that clears the gradients, with the program's own name for its optimizer."""
    update = None if pile.update is None else flow.events[pile.update]
    if update is None or update.kind != "optimizer":
        return f"{in_code(flow.name(pile.leaves[0]))}.grad = None (or .zero_())"
    return f"{stepped_by(flow, pile.update or 0)}.zero_grad()"


def _counted_twice(flow: Flow) -> Iterator[Case]:
    """Yield a case for each loss whose gradient was added twice to the same leaves."""
    reported: set[tuple[SourceLine | None, SourceLine | None]] = set()
    adding = [run for run in flow.runs if run.accumulates and not run.inputs and not run.nested and run.roots]
    taken_at = cache(partial(_rows_of_taken, flow))
    for earlier, later in pairwise(adding):
        places = (earlier.source, later.source)
        if places in reported:
            continue
        pair = next((pair for pair in ((earlier, later), (later, earlier)) if _is_part(flow, *pair)), None)
        leaves = _kept_in(flow, earlier, later, taken_at) if pair else []
        if pair and leaves:
            reported.add(places)
            yield _twice_case(flow, *pair, leaves)


def _is_part(flow: Flow, run: Run, other: Run) -> bool:
    """Whether all roots of a pass are roots of another, or part of one."""
    return all(root in other.roots or _goes_into(flow, root, other) for root in run.roots)


def _goes_into(flow: Flow, loss: int, other: Run) -> bool:
    """Whether a loss is part of what another pass starts from; that may also depend on the gradients of the loss."""
    calls = flow.reached_by(other).calls
    return any(row in calls and not flow.is_gradient(row) for row in flow.used_in.get(loss, ()))


def _kept_in(flow: Flow, earlier: Run, later: Run, taken_at: Callable[[], dict[int, list[int]]]) -> list[int]:
    """Return the leaves that got both gradients into one sum."""
    summed: dict[int, tuple[int, int]] = {}
    following = flow.arrival_rows(later)
    for leaf, arrivals in flow.arrival_rows(earlier).items():
        if leaf in following:
            first, second = arrivals[0], following[leaf][0]
            if flow.events[second].data.get("before") == "kept" and flow.ledger.cleared_at(leaf, second) <= first:
                summed[leaf] = first, second
    unused = _unused(flow, summed, taken_at)
    return [leaf for leaf in summed if leaf not in unused]


def _rows_of_taken(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> rows at which a call takes its ``.grad``."""
    found: dict[int, list[int]] = {}
    for taken in taken_gradients(flow):
        found.setdefault(taken.leaf, []).append(taken.row)
    return found


def _unused(flow: Flow, summed: dict[int, tuple[int, int]], taken_at: Callable[[], dict[int, list[int]]]) -> set[int]:
    """Return the leaves whose sum nothing uses: data whose gradient a loss used between the two arrivals only."""
    trained = flow.optimized
    uses = {
        leaf: [*flow.reads_of.get(leaf, ()), *taken_at().get(leaf, ())]
        for leaf in summed
        if not flow.facts(leaf).parameter and leaf not in trained
    }
    return {leaf for leaf, rows in uses.items() if _only_between(sorted(rows), *summed[leaf])}


def _only_between(rows: list[int], first: int, second: int) -> bool:
    """Whether some of the events are between two others, and none after them."""
    return first_between(rows, first, second) is not None and bisect_right(rows, second) == len(rows)


def _twice_case(flow: Flow, alone: Run, within: Run, leaves: list[int]) -> Case:
    """Return the case of one loss from which one pass starts, and another from it or from a sum with it."""
    root = flow.root_name(alone)
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    same = set(alone.roots) == set(within.roots)
    other = "" if same else f" as a part of {flow.root_name(within)}"
    return Case(
        kind="double-count",
        message=f"{root} was run backward twice,{at(alone.source)} and{other}{at(within.source)}, without clearing in "
        f"between: {names} {'counts' if len(leaves) == 1 else 'count'} it two times.",
        remedy=f"use torch.autograd.grad({root}, ...) for what only looks at gradients, or call backward once",
        source=alone.source,
        op="backward",
        subjects=frozenset(leaves),
    )
