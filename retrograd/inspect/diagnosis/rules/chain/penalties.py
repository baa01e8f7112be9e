"""Leaves that a loss reaches by penalties alone: terms of leaves, in which no data take part."""

from __future__ import annotations

from math import prod

from ....operators import Trait
from ...facts.flow import Flow
from ...facts.runs import Run
from ...queries.constants import Cut


def only_penalised(flow: Flow, run: Run, sums: set[int], cuts: list[Cut]) -> set[int]:
    """Return the leaves that a run reaches by functions of leaves alone, which are added to its loss.

    ``sums``: the calls that only add up what becomes the loss; ``cuts``: where it takes constants.
    """
    calls = sorted(flow.reached_by(run).calls)
    free = set[int]()
    mixed: list[tuple[int, int]] = []
    for row in calls:
        if all(_is_free(flow, given, row, free) for given in flow.inputs(row)):
            free.update(flow.events[row].data.get("outputs", ()))
        elif row not in sums:
            mixed += [(row, given) for given in flow.inputs(row) if given in free or flow.is_leaf(given)]
    with_data, seen = set[int](), set[int]()
    while mixed:  # back from where data come in
        row, tensor = mixed.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if flow.is_leaf(tensor):
            with_data.add(tensor)
        for made in flow.producers(tensor, row, gradients=True):
            mixed += [(made, given) for given in flow.inputs(made)]
    return (flow.leaves_behind(flow.reached_by(run)) & set(flow.optimized)) - with_data - _weighed(flow, cuts)


def _is_free(flow: Flow, tensor: int, row: int, free: set[int]) -> bool:
    """Whether a tensor is a leaf to train, made of such alone, or a number."""
    if tensor in free:
        return True
    if flow.has_history(tensor, row):
        return False
    return flow.requires_grad(tensor, row) or prod(flow.facts(tensor).shape) == 1


def _weighed(flow: Flow, cuts: list[Cut]) -> set[int]:
    """Return the leaves of terms that are scaled by what was cut off from other leaves.

    They answer to what the others do, as multipliers of constraints and temperatures do, and are no penalty.
    """
    found = set[int]()
    for cut in cuts:
        if flow.does(cut.taker, Trait.SCALING):
            beside = [one for one in flow.inputs(cut.taker) if one != cut.operand]
            own = flow.leaves_behind(flow.behind(beside, cut.taker)).union(filter(flow.is_leaf, beside))
            if not own.issuperset(flow.leaves_behind(flow.behind([cut.given], cut.row))):
                found |= own
    return found
