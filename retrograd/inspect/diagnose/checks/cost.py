"""Steps that are right but waste memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...snapshot import GraphSnapshot
from ..base import Case, Check, Kind, Stage
from ..flow import Flow
from ..nodes import call_of, largest_graphs
from ..runs import Run
from ..words import at, shape_text

KINDS = {
    "memory-hog": Kind("one node keeps most of the saved memory", "warning", Stage.COST),
}
MIB = 2**20
_BLOW_UP = 8
"""How many times as large as the largest tensor behind it a saved value must be."""
_PAIRING = frozenset({"add", "sub", "rsub", "mul", "div", "where", "maximum", "minimum", "eq"})
"""Operators that are used to broadcast every entry of one tensor against every entry of another."""
_SMALLER = (
    "compute it without the large intermediate (such as |a|^2 + |b|^2 - 2 a @ b.T for pairwise distances), in chunks, "
    "or under torch.utils.checkpoint"
)


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of the largest graph of each line that runs backward."""
    for run, snapshot in largest_graphs(flow):
        yield from list(_hog(flow, run, snapshot)) or _paired(flow, run, snapshot)


CHECK = Check("cost", KINDS, find)


def _hog(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield the case of a node that keeps most of what a graph saves, much larger than what it came from."""
    saved = [size or 0 for size in snapshot.measures.get("saved_bytes", snapshot.saved_bytes)]
    total, largest = sum(saved), max(saved, default=0)
    if largest < MIB or largest < 0.5 * total:
        return
    node = saved.index(largest)
    row = call_of(flow, snapshot, node)
    kept = [] if row is None else [t for t in flow.events[row].data.get("saves", ()) if not flow.is_leaf(t)]
    if row is None or not kept:
        return
    tensor = max(kept, key=lambda one: prod(flow.facts(one).shape))
    sources = flow.behind([tensor], row, gradients=False).tensors
    origins = [t for t in sources if not flow.made_in.get(t) or _is_origin(flow, t)]
    given = max((prod(flow.facts(t).shape) for t in origins), default=1)
    if prod(flow.facts(tensor).shape) < _BLOW_UP * given:
        return
    made = flow.last_producer(tensor, row, gradients=True)
    if made is not None and tensor in flow.events[made].data.get("saves", ()):
        row = made  # of several that keep it, the one that made it
    event = flow.events[row]
    name = flow.name(tensor, event.source.function if event.source else None)
    shape = shape_text(flow.facts(tensor).shape)
    shown = f"{name} of shape {shape}" if flow.spelling.has_name(tensor) else f"a tensor of shape {shape}"
    share = largest / total
    yield Case(
        kind="memory-hog",
        message=f"{largest / MIB:.1f} MiB of the {total / MIB:.1f} MiB of memory saved for backward ({share:.0%}) is "
        f"{shown}, kept by {event.op}{at(event.source)}.",
        remedy=_SMALLER,
        source=event.source,
        op=event.op,
        subjects=frozenset({tensor}),
        marks=flow.marks(run, [row], f"{largest / MIB:.1f} MiB"),
        evidence={"bytes": largest, "total": total, "shape": list(flow.facts(tensor).shape)},
    )


def _paired(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield the case of entries broadcast against each other, where several nodes keep values of the size that gave."""
    saved = [size or 0 for size in snapshot.measures.get("saved_bytes", snapshot.saved_bytes)]
    total, largest = sum(saved), max(saved, default=0)
    keeping = [size for size in saved if size >= 0.9 * largest]
    if largest < MIB or len(keeping) < 2 or sum(keeping) < 0.8 * total:
        return
    for row in sorted(flow.reached_by(run).calls):
        event = flow.events[row]
        made = event.data.get("outputs", ())
        sizes = [prod(flow.facts(one).shape) for one in flow.inputs(row)]
        size = prod(flow.facts(made[0]).shape) if made else 0
        if event.op in _PAIRING and sizes and size >= _BLOW_UP * max(sizes) and 4 * size >= 0.9 * largest:
            name = flow.name(made[0], event.source.function if event.source else None)
            shown = name if flow.spelling.has_name(made[0]) else "a result"
            yield Case(
                kind="memory-hog",
                message=f"{event.op}{at(event.source)} makes {shown} of shape {shape_text(flow.facts(made[0]).shape)}, "
                f"every entry against every other, and {len(keeping)} nodes keep values of that size: "
                f"{sum(keeping) / MIB:.1f} of the {total / MIB:.1f} MiB of memory saved for backward "
                f"({sum(keeping) / total:.0%}).",
                remedy=_SMALLER,
                source=event.source,
                op=event.op,
                subjects=frozenset(made),
                marks=flow.marks(run, [row], f"{sum(keeping) / MIB:.1f} MiB from here on"),
                evidence={"bytes": sum(keeping), "total": total, "shape": list(flow.facts(made[0]).shape)},
            )
            return


def _is_origin(flow: Flow, tensor: int) -> bool:
    """Whether a tensor was made of no other tensor."""
    return all(not flow.inputs(row) for row in flow.made_in.get(tensor, ()))
