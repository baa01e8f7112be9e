"""Steps that are right but waste memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..snapshot import GraphSnapshot
from .base import Case, Check, Kind, Stage
from .flow import Flow
from .nodes import call_of, largest_graphs
from .runs import Run
from .words import at, shape_text

KINDS = {
    "memory-hog": Kind("one node keeps most of the saved memory", "warning", Stage.COST),
}
MIB = 2**20
_BLOW_UP = 8
"""How many times as large as the largest tensor behind it a saved value must be."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of the largest graph of each line that runs backward."""
    for run, snapshot in largest_graphs(flow):
        yield from _hog(flow, run, snapshot)


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
        message=f"{largest / MIB:.1f} MiB of the {total / MIB:.1f} MiB saved for backward ({share:.0%}) is {shown}, "
        f"kept by {event.op}{at(event.source)}.",
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
