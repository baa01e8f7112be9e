"""Ranks, or equal steps of one program, that build different graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, zip_longest

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.lines import calls_between, same_call
from ..facts.row_table import last_before
from ..facts.runs import Run
from ..text.words import at, in_code, named

KINDS = {
    "rank-divergence": Kind("ranks build different graphs", "error", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from _ranks(flow)


CHECK = Check("divergence", KINDS, find)


def _ranks(flow: Flow) -> Iterator[Case]:
    """Yield a case when one line ran backward for equal steps, no update between, and reached other leaves."""
    by_line: dict[SourceLine | None, list[Run]] = {}
    for run in flow.runs:
        if run.accumulates and not run.nested and not run.error:
            by_line.setdefault(run.source, []).append(run)
    for runs in by_line.values():
        for first, second in pairwise(runs):
            one, other = (flow.leaves_behind(flow.reached_by(run)) for run in (first, second))
            forward = min(flow.reached_by(first).calls, default=first.end)  # steps of threads lie in one another
            fresh = {flow.facts(leaf).source for leaf in other if _made_after(flow, leaf, forward)}
            if first.thread != second.thread:
                fresh |= _lines_of_inputs(flow, one - other) & _lines_of_inputs(flow, other - one)
            if not (one and other):
                continue
            one, other = ({leaf for leaf in side if flow.facts(leaf).source not in fresh} for side in (one, other))
            alike = _first_copies(flow) if one and other and one.isdisjoint(other) else {}
            one, other = ({alike.get(leaf, leaf) for leaf in side} for side in (one, other))
            common = bool(fresh or one & other)
            if common and _differ(flow, (first, second), one, other) and not _updated(flow, one | other, first, second):
                yield _rank_case(flow, (first, second), one - other, other - one, alike)
                return


def _lines_of_inputs(flow: Flow, leaves: set[int]) -> set[SourceLine | None]:
    """Return the lines that made leaves which are not parameters: threads run one line for an input of each."""
    return {flow.facts(leaf).source for leaf in leaves if not flow.facts(leaf).parameter}


def _first_copies(flow: Flow) -> dict[int, int]:
    """Return parameter of a module built like an earlier one -> its counterpart there: ranks have copies."""
    firsts: dict[tuple[object, ...], list[int]] = {}
    found: dict[int, int] = {}
    for _, event in flow.of_kind("module"):
        parameters = event.data.get("parameters", {})
        shapes = ((name, flow.facts(leaf).shape) for name, leaf in parameters.items())
        leaves = firsts.setdefault((event.data.get("type"), *shapes), list(parameters.values()))
        found.update(zip(parameters.values(), leaves, strict=True))
    return found


def _differ(flow: Flow, runs: tuple[Run, Run], one: set[int], other: set[int]) -> bool:
    """Whether two steps, each with its own forward pass, train different leaves."""
    if one == other or flow.reached_by(runs[0]).calls & flow.reached_by(runs[1]).calls:
        return False
    return bool(one & other) or _shapes(flow, one) != _shapes(flow, other)  # each rank may have a copy of its own


def _shapes(flow: Flow, leaves: set[int]) -> list[tuple[int, ...]]:
    return sorted(flow.facts(leaf).shape for leaf in leaves)


def _made_after(flow: Flow, leaf: int, row: int) -> bool:
    """Whether a leaf is a step's own: made, or first seen, after a row."""
    seen = [*flow.made_in.get(leaf, ())[:1], *flow.used_in.get(leaf, ())[:1]]
    return not flow.facts(leaf).parameter and min(seen, default=row) > row


def _updated(flow: Flow, leaves: set[int], first: Run, second: Run) -> bool:
    """Whether leaves were updated between two runs, or the second added to the gradients of the first."""
    steps = flow.stepped_between(first.end, second.begin)
    writes = any(last_before(flow.writes_into(leaf), second.begin) > first.end for leaf in leaves)
    arrived = (event for events in flow.arrivals_in(second).values() for event in events)
    kept = any(event.data.get("before") == "kept" for event in arrived)
    return steps or writes or kept


def _rank_case(flow: Flow, runs: tuple[Run, Run], one: set[int], other: set[int], alike: Mapping[int, int]) -> Case:
    """Return the case of two passes; ``alike`` maps a leaf to another one, of which it is a rank's copy."""
    source, op = _fork(flow, *runs, alike) or _first_taking(flow, runs, one | other)
    first, second = (named(flow, sorted(leaves)) for leaves in (one, other))
    sides_of = ((first, one, "first"), (second, other, "second"))
    sides = [
        f"{names} get{'s' * (len(leaves) == 1)} a gradient only in the {word}"
        for names, leaves, word in sides_of
        if leaves
    ]
    example = flow.name(min(one or other))
    return Case(
        kind="rank-divergence",
        severity=None if alike else "note",  # copies of a module are ranks'; other steps may stand for anything
        message=f"two backward passes{at(runs[1].source)}, with no step in between, diverge{at(source)}: "
        f"{' and '.join(sides)}. If they represent ranks, ranks that sum gradients wait for each other forever.",
        remedy=f"use every parameter on every rank: loss = loss + 0.0 * ({in_code(example)}.sum() + ...), or "
        "find_unused_parameters=True",
        source=source,
        op=op,
        subjects=frozenset(one | other).union(leaf for leaf, first in alike.items() if first in one | other),
        evidence={"only_first": [flow.name(t) for t in one], "only_second": [flow.name(t) for t in other]},
    )


def _first_taking(flow: Flow, runs: tuple[Run, Run], leaves: set[int]) -> tuple[SourceLine | None, str]:
    """Return the first call of two runs that takes one of some leaves."""
    rows = sorted(row for run in runs for row in flow.reached_by(run).calls if leaves.intersection(flow.inputs(row)))
    return (flow.events[rows[0]].source, flow.events[rows[0]].op) if rows else (runs[1].source, "backward")


def _fork(flow: Flow, first: Run, second: Run, alike: Mapping[int, int]) -> tuple[SourceLine | None, str] | None:
    """Return the line at which two passes diverge: the value that decided, or else the first call that differs.

    None where one of them does all that the other does, and something before it.
    """
    before = max((run.end for run in flow.runs if run.end < first.begin), default=-1)
    mine = calls_between(flow, before + 1, first.begin)
    theirs = calls_between(flow, first.end + 1, second.begin)
    start = next((place for place, event in enumerate(mine) if any(same_call(event, one) for one in theirs)), 0)
    offset = next((place for place, event in enumerate(theirs) if mine and same_call(mine[start], event)), 0)
    last: Event | None = None
    for event, twin in zip_longest(mine[start:], theirs[offset:]):
        same = event and twin and same_call(event, twin)
        if not (same and _trained_in(flow, event, before, alike) == _trained_in(flow, twin, before, alike)):
            here = event or twin  # one of the two may have ended
            decided = last is not None and _decides(flow, last) and _near(last.source, here.source)
            return (last.source, last.op) if decided and last is not None else (here.source, here.op)
        last = event
    return None


def _decides(flow: Flow, event: Event) -> bool:
    """Whether a call returns what a branch needs: a number, or one boolean."""
    made = [flow.facts(one) for one in event.data.get("outputs", ())]
    return [(one.shape, one.dtype) for one in made] == [((), "bool")] if made else is_a(event.op, Trait.READING)


def _trained_in(flow: Flow, event: Event | None, since: int, alike: Mapping[int, int]) -> set[int | SourceLine | None]:
    """Return the leaves to train that a call takes; one that a step made for itself, after a row, by its line."""
    trained = flow.trainable(event.data.get("inputs", ())) if event else set()
    return {flow.facts(one).source if _made_after(flow, one, since) else alike.get(one, one) for one in trained}


def _near(one: SourceLine | None, other: SourceLine | None) -> bool:
    """Whether a value was read shortly before, in the same function."""
    return bool(one and other and one.function == other.function and one.file == other.file)
