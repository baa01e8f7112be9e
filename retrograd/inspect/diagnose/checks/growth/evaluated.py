"""Results of forward passes that nothing runs backward, as an evaluation makes them while gradients are on."""

from __future__ import annotations

from itertools import pairwise

from ...recorded.flow import Flow

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


def _takes_leaves(flow: Flow, calls: set[int]) -> bool:
    return any(flow.trainable(flow.inputs(row)) for row in calls)
