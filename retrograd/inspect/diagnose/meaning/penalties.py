"""Leaves whose only gradient is that of their own penalty: no data come to what a loss takes of them."""

from __future__ import annotations

from math import prod

from ..recorded.flow import Flow
from ..recorded.runs import Run


def only_penalised(flow: Flow, run: Run, sums: set[int]) -> set[int]:
    """Return the leaves that a run reaches by functions of leaves alone, which are added to its loss.

    ``sums``: the calls that only add up what becomes the loss.
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
    return (flow.leaves_behind(flow.reached_by(run)) & set(flow.optimized)) - with_data


def _is_free(flow: Flow, tensor: int, row: int, free: set[int]) -> bool:
    """Whether a tensor is a leaf to train, made of such alone, or a number."""
    if tensor in free:
        return True
    if flow.has_history(tensor, row):
        return False
    return flow.requires_grad(tensor, row) or prod(flow.facts(tensor).shape) == 1
