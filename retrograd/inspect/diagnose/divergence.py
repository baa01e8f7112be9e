"""Computations that should be the same and are not: ranks, and recomputed checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..events import Event
from ..snapshot import SourceLine
from .base import Case, Check, Kind, Stage
from .flow import Flow
from .runs import Run
from .words import at, listed, shape_text

KINDS = {
    "nondeterminism": Kind("two equal runs differ", "warning", Stage.STRUCTURE),
    "rank-divergence": Kind("ranks build different graphs", "error", Stage.STATEMENT),
    "checkpoint-mismatch": Kind("recomputation differs from forward", "error", Stage.STATEMENT),
}
_MISMATCH = ("different metadata", "recomputed values", "number of tensors was saved")
_BRANCHING = ("item", "bool", "float", "int", "tolist", "index")


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from _ranks(flow)
    if any(word in flow.error_text.lower() for word in _MISMATCH):
        yield from _recomputation(flow)


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
            if one - other and other - one and one & other and not _updated(flow, one | other, first, second):
                yield _rank_case(flow, (first, second), one - other, other - one)
                return


def _updated(flow: Flow, leaves: set[int], first: Run, second: Run) -> bool:
    """Whether leaves were updated between two runs, or the second added to the gradients of the first."""
    steps = any(first.end < row < second.begin for row, _ in flow.of_kind("optimizer", action="step"))
    storages = {flow.facts(leaf).storage for leaf in leaves} - {None}
    writes = any(first.end < row < second.begin for s in storages for row in flow.writes_to.get(s, ()))  # type: ignore[arg-type]
    kept = any(event.data.get("before") == "kept" for _, event in flow.of_kind("accumulate", run=second.number))
    return steps or writes or kept


def _rank_case(flow: Flow, runs: tuple[Run, Run], one: set[int], other: set[int]) -> Case:
    """Return the case of two runs."""
    source, op = _fork(flow, *runs)
    first, second = (listed(flow.name(leaf) for leaf in sorted(leaves)) for leaves in (one, other))
    return Case(
        kind="rank-divergence",
        message=f"equal steps (ranks) build different graphs: they part{at(source)}; {first} gets a gradient only in "
        f"the one, {second} only in the other{at(runs[1].source)}, so ranks that add up gradients wait for ever.",
        remedy=f"use every parameter on every rank: loss = loss + 0.0 * ({first.split(' ')[0]}.sum() + ...), or "
        "find_unused_parameters=True",
        source=source,
        op=op,
        subjects=frozenset(one | other),
        evidence={"only_first": [flow.name(t) for t in one], "only_second": [flow.name(t) for t in other]},
    )


def _fork(flow: Flow, first: Run, second: Run) -> tuple[SourceLine | None, str]:
    """Return the line at which two runs part: the value that decided, or else the first call that differs."""
    before = max((run.end for run in flow.runs if run.end < first.begin), default=-1)
    mine = _calls(flow, before + 1, first.begin)
    theirs = _calls(flow, first.end + 1, second.begin)
    start = next((place for place, event in enumerate(mine) if any(_same(event, one) for one in theirs)), 0)
    offset = next((place for place, event in enumerate(theirs) if mine and _same(mine[start], event)), 0)
    last: Event | None = None
    for event, twin in zip(mine[start:], theirs[offset:], strict=False):
        if not _same(event, twin):
            decided = last is not None and last.op in _BRANCHING and _near(last.source, event.source)
            return (last.source, last.op) if decided and last is not None else (event.source, event.op)
        last = event
    return second.source, "backward"


def _calls(flow: Flow, begin: int, end: int) -> list[Event]:
    return [event for event in flow.events[begin:end] if event.kind in ("operation", "cut", "inplace") and event.source]


def _same(one: Event, other: Event) -> bool:
    return (one.op, one.source) == (other.op, other.source)


def _near(one: SourceLine | None, other: SourceLine | None) -> bool:
    """Whether a value was looked at shortly before, in the same function."""
    return bool(one and other and one.function == other.function and one.file == other.file)


_STOPPED = "_StopRecomputationError"
"""PyTorch ends a recomputation as soon as it has what backward needs."""


def _recomputation(flow: Flow) -> Iterator[Case]:
    """Yield the case of a block that took another way when it was computed again."""
    blocks = {e.data.get("block"): e for _, e in flow.of_kind("checkpoint", action="forward")}
    for _, again in flow.of_kind("checkpoint", action="recompute"):
        first = blocks.get(again.data.get("block"))
        if first is None:
            continue
        mine, theirs = (_inside(flow, event) for event in (first, again))
        stopped = any(_STOPPED in str(event.data.get("error", "")) for event in theirs)
        theirs = [event for event in theirs if not event.data.get("error")]
        missing = [] if stopped or not flow.error_text else [None] * len(mine)
        for event, twin in zip(mine, [*theirs, *missing], strict=False):
            if twin is None or not _same(event, twin) or _shapes(flow, event) != _shapes(flow, twin):
                yield _block_case(flow, first, event, twin)
                return


def _inside(flow: Flow, event: Event) -> list[Event]:
    return _calls(flow, event.data.get("first", 0), event.data.get("end", len(flow.events)))


def _shapes(flow: Flow, event: Event) -> list[tuple[int, ...]]:
    return [flow.facts(tensor).shape for tensor in event.data.get("outputs", ())]


def _block_case(flow: Flow, first: Event, event: Event, twin: Event | None) -> Case:
    """Return the case of the first call that differs."""
    function = first.data.get("function") or "the block"
    names = [name for name in event.data.get("output_names") or [] if name]
    what = f"{names[0]} = {event.op}(...)" if names else f"{event.op}(...)"
    shapes = listed(shape_text(shape) for shape in _shapes(flow, event))
    other = (
        f"{twin.op}{at(twin.source)} with shape {listed(map(shape_text, _shapes(flow, twin)))}" if twin else "nothing"
    )
    return Case(
        kind="checkpoint-mismatch",
        message=f"{function} ran differently when it was recomputed for backward: forward did {what}{at(event.source)} "
        f"with shape {shapes}, the recomputation did {other} in its place.",
        remedy=f"make {function} depend on nothing but its inputs: no counters, global state or randomness of its own",
        source=event.source,
        op=event.op,
        explains_error=True,
    )
