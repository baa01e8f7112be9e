"""The step ``views``: transposes, views, casts and reshapes are drawn as part of an edge."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ..graphs.graph import Graph

_NAMES = (
    "T MT Transpose Permute Movedim View UnsafeView Reshape ReshapeAlias ViewAs Squeeze Unsqueeze Flatten Unflatten "
    "Alias Clone Contiguous Expand ToCopy Detach Swapaxes Lift LiftFresh ViewCopy TCopy TransposeCopy"
)
PLUMBING = frozenset(name.lower() for name in _NAMES.split())
"""Operators that pass on the same numbers in another shape, order or type, by their names without ``Backward``."""
_ENDING = re.compile(r"Backward\d*$")


@dataclass(slots=True)
class Edges:
    """Edges of the original after merging: per edge the one that leaves the source and the one that enters the end."""

    first: list[int]
    last: list[int]


def is_plumbing(op: str) -> bool:
    """Whether an operator only rearranges its numbers."""
    return _ENDING.sub("", op).lower().replace("_", "") in PLUMBING


def plumbing_nodes(snapshot: Graph) -> bytearray:
    """Return which nodes can merge into an edge: plumbing with one outgoing edge, roots excepted."""
    verdicts = {op: is_plumbing(op) for op in set(snapshot.op)}
    degree, reached = [0] * len(snapshot), bytearray(len(snapshot))
    broadcasts = {op for op in verdicts if op.startswith("Expand")}
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        degree[source] += 1
        if snapshot.op[source] in broadcasts and not _same_size(snapshot.shape[source], snapshot.shape[target]):
            degree[source] += 1  # it repeats numbers, so its gradient is a sum: an operator like any other
        if source != target:
            reached[target] = 1
    found = bytearray(
        1 if verdicts[op] and degree[node] == 1 and reached[node] else 0 for node, op in enumerate(snapshot.op)
    )
    for root in snapshot.roots:
        found[root] = 0
    return found


def _same_size(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> bool:
    """Whether two shapes are known and hold equally many numbers."""
    return one is not None and other is not None and math.prod(one) == math.prod(other)


def merge_plumbing(snapshot: Graph, merged: bytearray) -> Edges:
    """Return the edges that remain when the marked nodes are merged into the edges that lead to them."""
    way_on = [-1] * len(snapshot)
    for edge, source in enumerate(snapshot.edge_source):
        if merged[source]:
            way_on[source] = edge
    ends = _last_edges(snapshot, merged, way_on)
    first = [edge for edge, source in enumerate(snapshot.edge_source) if not merged[source]]
    return Edges(first, [ends[edge] for edge in first])


def _last_edges(snapshot: Graph, merged: bytearray, way_on: list[int]) -> list[int]:
    """Return for every edge the one that enters the node where its run of merged nodes ends."""
    targets = snapshot.edge_target
    ends = [-1] * snapshot.edge_count
    for start in range(snapshot.edge_count):
        edge, run = start, []
        while ends[edge] < 0:
            run.append(edge)
            ends[edge] = edge  # also ends a run that goes in a circle
            if not merged[targets[edge]]:
                break
            edge = way_on[targets[edge]]
        for passed in run:
            ends[passed] = ends[edge]
    return ends
