"""Steps that are right but waste memory or time."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..snapshot import GraphSnapshot, SourceLine
from .base import Case, Check, Kind, Stage
from .flow import Flow
from .runs import Run
from .words import at, counted, operator_word, shape_text

KINDS = {
    "memory-hog": Kind("one node keeps most of the saved memory", "warning", Stage.COST),
    "slow-node": Kind("one node or line takes most of the backward time", "warning", Stage.COST),
}
MIB = 2**20
_BLOW_UP = 8
"""How many times as large as the largest tensor behind it a saved value must be."""
_SLOW_US = 20_000
"""Microseconds from which on time is worth a word."""
_INDEXING = frozenset({"getitem", "select", "narrow", "slice", "index_select", "unbind", "take", "gather", "index"})


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of the largest graph of each line that runs backward."""
    largest: dict[SourceLine | None, Run] = {}
    for run in flow.runs:
        if run.snapshot is not None and not run.error:
            known = largest.get(run.source)
            size = len(flow.recording.snapshots[run.snapshot])
            if known is None or size > len(flow.recording.snapshots[known.snapshot or 0]):
                largest[run.source] = run
    for run in largest.values():
        snapshot = flow.recording.snapshots[run.snapshot or 0]
        yield from _hog(flow, run, snapshot)
        yield from _loop(flow, run, snapshot)


CHECK = Check("cost", KINDS, find)


def _hog(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield the case of a node that keeps most of what a graph saves, much larger than what it came from."""
    saved = [size or 0 for size in snapshot.measures.get("saved_bytes", snapshot.saved_bytes)]
    total, largest = sum(saved), max(saved, default=0)
    if largest < MIB or largest < 0.5 * total:
        return
    node = saved.index(largest)
    row = _call(flow, snapshot, node)
    kept = [] if row is None else [t for t in flow.events[row].data.get("saves", ()) if not flow.is_leaf(t)]
    if row is None or not kept:
        return
    tensor = max(kept, key=lambda one: prod(flow.facts(one).shape))
    sources = flow.behind([tensor], row, gradients=False).tensors
    origins = [t for t in sources if not flow.made_in.get(t) or _is_origin(flow, t)]
    given = max((prod(flow.facts(t).shape) for t in origins), default=1)
    if prod(flow.facts(tensor).shape) < _BLOW_UP * given:
        return
    event = flow.events[row]
    name = flow.name(tensor, event.source.function if event.source else None)
    share = largest / total
    yield Case(
        kind="memory-hog",
        message=f"{largest / MIB:.1f} MiB of the {total / MIB:.1f} MiB saved for backward ({share:.0%}) is {name} of "
        f"shape {shape_text(flow.facts(tensor).shape)}, kept by {event.op}{at(event.source)}.",
        remedy="compute it without the large intermediate (such as |a|^2 + |b|^2 - 2 a @ b.T for pairwise distances), "
        "in chunks, or under torch.utils.checkpoint",
        source=event.source,
        op=event.op,
        subjects=frozenset({tensor}),
        marks=flow.marks(run, [row], f"{largest / MIB:.1f} MiB"),
        evidence={"bytes": largest, "total": total, "shape": list(flow.facts(tensor).shape)},
    )


def _is_origin(flow: Flow, tensor: int) -> bool:
    """Whether a tensor was made of no other tensor."""
    return all(not flow.inputs(row) for row in flow.made_in.get(tensor, ()))


def _call(flow: Flow, snapshot: GraphSnapshot, node: int) -> int | None:
    seq = snapshot.seq[node]
    return None if seq is None else flow.call_of_node(snapshot.first_seq + seq)


def _loop(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield a case for each line whose many nodes each fill a gradient much larger than their own."""
    times = snapshot.measures.get("time_us")
    if times is None:
        return
    by_line: dict[SourceLine | None, list[int]] = {}
    for node, source in enumerate(snapshot.source):
        by_line.setdefault(source, []).append(node)
    for source, nodes in by_line.items():
        rows = [] if len(nodes) < 100 else [row for node in nodes if (row := _call(flow, snapshot, node)) is not None]
        rows = [row for row in rows if flow.events[row].op.strip("_") in _INDEXING]
        if len(rows) < 100:
            continue
        spent = sum(times[node] or 0.0 for node in nodes)
        tensor, part = flow.inputs(rows[0])[0], flow.events[rows[0]].data["outputs"][0]
        ratio = prod(flow.facts(tensor).shape) / max(prod(flow.facts(part).shape), 1)
        rest = sum(time or 0.0 for time in times)
        if ratio >= 50 and spent >= _SLOW_US and spent >= 0.1 * rest:
            yield _loop_case(flow, run, rows, (source, spent, rest))


def _loop_case(flow: Flow, run: Run, rows: list[int], told: tuple[SourceLine | None, float, float]) -> Case:
    """Return the case of one line in a loop."""
    source, spent, whole = told
    event = flow.events[rows[0]]
    tensor = flow.inputs(rows[0])[0]
    name = flow.name(tensor, source.function if source else None)
    op = operator_word(event.op)
    return Case(
        kind="slow-node",
        message=f"{counted(len(rows), 'node')} of {op} (select) on {name}{at(source)} take {spent / 1000:.0f} ms, "
        f"{spent / whole:.0%} of backward: in a loop, each fills a gradient of the full shape "
        f"{shape_text(flow.facts(tensor).shape)} for its small part.",
        remedy=f"vectorise over {name}, or take it apart once: for row in {name}.unbind(0)",
        source=source,
        op=event.op,
        subjects=frozenset({tensor}),
        marks=flow.marks(run, rows[:1], f"one of {len(rows)}"),
        evidence={"nodes": len(rows), "time_us": spent, "share": spent / whole},
    )
