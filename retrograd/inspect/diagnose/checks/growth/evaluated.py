"""Results of forward passes that nothing runs backward, as an evaluation makes them while gradients are on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...recorded.flow import Flow

FEW = 5
"""Forward passes of one line from which on they count as steps."""
JOINING = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "hstack"})
_NUMBERS = ((), (1,))
"""Shapes of a single number, as metrics are."""


def ends_of_passes(flow: Flow, tensors: list[int]) -> list[int]:
    """Return the numbers among results of one line that each end a forward pass of their own; none if one is used.

    All passes take the same leaves, each in calls of its own: terms of one loss and entries of one result do not.
    """
    ends = [one for one in tensors if flow.facts(one).shape in _NUMBERS]
    passes = [flow.behind([one], len(flow.events)) for one in ends]
    leaves = [flow.leaves_behind(one) for one in passes]
    if not all(leaves) or any(one != other for one, other in pairwise(leaves)):
        return []
    if any(not _takes_leaves(flow, other.calls - one.calls) for one, other in pairwise(passes)):
        return []
    made = set().union(*(one.calls for one in passes))
    return ends if all(made.isdisjoint(flow.reached_by(run).calls) for run in flow.runs) else []


def collected_passes(flow: Flow) -> Iterator[list[int]]:
    """Yield the results of one line that a call joins, each of a forward pass of its own that nothing runs backward.

    As outputs of all batches are collected and joined at the end of an evaluation; until then each keeps its graph.
    """
    taken = set().union(*(flow.reached_by(run).calls for run in flow.runs))
    for kind in ("operation", "cut"):
        for row, event in flow.of_kind(kind):
            parts = list(dict.fromkeys(flow.inputs(row))) if event.op in JOINING and row not in taken else []
            lines = {flow.facts(one).source for one in parts}
            if len(parts) >= FEW and len(lines) == 1 and _are_passes(flow, parts, row, taken):
                yield parts


def _are_passes(flow: Flow, parts: list[int], row: int, taken: set[int]) -> bool:
    """Whether tensors that a call joins are made by calls of their own, of the same leaves, which are weights."""
    if not all(flow.has_history(one, row) for one in parts):
        return False
    passes = [flow.behind([one], row) for one in parts]
    leaves = [flow.leaves_behind(one) for one in passes]
    if not leaves[0] or any(one != other for one, other in pairwise(leaves)):
        return False
    calls = [one.calls for one in passes]
    apart = sum(map(len, calls)) == len(set().union(*calls))
    return apart and taken.isdisjoint(calls[0]) and any(flow.facts(leaf).parameter for leaf in leaves[0])


def _takes_leaves(flow: Flow, calls: set[int]) -> bool:
    return any(flow.trainable(flow.inputs(row)) for row in calls)
