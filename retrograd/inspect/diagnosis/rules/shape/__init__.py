"""Shapes that fit by accident, or do not fit backward."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case, Check, Kind, Stage
from ...facts.flow import Flow
from ...text.phrases import NOT_SCALAR
from ...text.words import at, listed
from .broadcasts import broadcasts, picked_for_all
from .not_scalar import given_up, not_scalar_case
from .own_statistics import own_statistics
from .torn_views import torn_views

KINDS = {
    "broadcast": Kind("operands broadcast to a larger shape than either", "warning", Stage.STATEMENT),
    "mixed-axes": Kind("a view reads axes in another order than they lie in memory", "warning", Stage.STATEMENT),
    "nonscalar-backward": Kind("backward on a vector", "error", Stage.STATEMENT),
    "duplicate-index": Kind("indexed write with repeated indices", "error", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from broadcasts(flow)
    yield from picked_for_all(flow)
    yield from own_statistics(flow)
    yield from torn_views(flow)
    if NOT_SCALAR in flow.error_text or given_up(flow):
        yield not_scalar_case(flow)
    yield from _duplicates(flow)


CHECK = Check("shape", KINDS, find)


def _duplicates(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss that wrote several values to one place."""
    reported = set()
    for kind in ("inplace", "operation"):
        for row, event in flow.of_kind(kind):
            count = event.data.get("duplicates", 0)
            if not count or event.source in reported or not flow.has_node(row) or row not in flow.behind_losses.calls:
                continue
            reported.add(event.source)
            yield _duplicate_case(flow, row, count)


def _duplicate_case(flow: Flow, row: int, count: int) -> Case:
    """Return the case of one indexed write."""
    event = flow.events[row]
    target = flow.target(row)
    name = flow.name(flow.inputs(row)[0] if target is None else target, event.source)
    index = [t for t in flow.inputs(row) if flow.facts(t).dtype.startswith(("int", "uint", "long"))]
    names = [flow.name(t, event.source) for t in index if flow.spelling.has_name(t)]
    spelled = listed(names) or "index"
    which, comma = (f"{spelled}, the index", ",") if names else ("the index", "")
    line = flow.spelling.text(event.source)
    added = "+=" in line or "-=" in line
    return Case(
        kind="duplicate-index",
        message=f"{which} of the write into {name}{at(event.source)}{comma} has {count} repeated (duplicate) "
        "entries: only the last write to each place counts, yet backward sends gradient to all of them.",
        remedy=_adding(name, spelled, event.op, several=len(names) > 1, added=added),
        source=event.source,
        op=event.op,
        subjects=frozenset({target} if target is not None else ()),
        marks=flow.marks(flow.run_after(row), [row], "repeated indices"),
    )


def _adding(name: str, index: str, op: str, *, several: bool, added: bool) -> str:
    """Return an expression that accumulates the values of repeated indices."""
    if several or op.startswith("index_put"):
        given = index.replace(" and ", ", ") if several else f"{index},"
        return f"index_put(({given}), values, accumulate=True), which adds them up, or make the indices unique"
    return f"{name}.index_add_(0, {index}, values)" if added else "make the indices unique, or use index_add_"
