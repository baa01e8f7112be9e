"""The order in which one reads a drawing: from the loss down, and of branches side by side the left one first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def reading_order(count: int, sources: Sequence[int], targets: Sequence[int], inputs: Sequence[int]) -> list[int]:
    """Return the numbers 0 to ``count - 1``, each before all that its edges lead to, the first inputs first.

    ``inputs`` says per edge which input of its source it stands for; layouts draw them from left to right.
    It is the reverse of the order in which a search depth first leaves them, when it takes the last inputs first.
    """
    starts, below = _rows(count, sources, targets, inputs)
    entered = bytearray(count)
    left: list[int] = []
    for top in _tops(count, targets):
        stack = [top]
        while stack:
            here = stack[-1]
            if not entered[here]:
                entered[here] = 1
                stack += [target for target in below[starts[here] : starts[here + 1]] if not entered[target]]
                continue
            stack.pop()
            if entered[here] == 1:
                entered[here] = 2
                left.append(here)
    return left[::-1]


def nested_order(
    flat: Sequence[int], levels: Sequence[np.ndarray], sources: np.ndarray, targets: np.ndarray
) -> list[int]:
    """Return the numbers in an order in which what stands in one box stays together, as near to ``flat`` as may be.

    ``levels`` has, outermost first, per number the box that it stands in, or what is its own; boxes make no cycle.
    """
    rank = np.empty(len(flat), dtype=np.int64)
    rank[np.asarray(flat, dtype=np.int64)] = np.arange(len(flat))
    columns: list[np.ndarray] = []
    together = np.ones(len(sources), dtype=bool)
    for level in levels:
        here = np.flatnonzero(together & (level[sources] != level[targets]))
        columns.append(_level_ranks(rank, level, sources[here], targets[here]))
        together &= level[sources] == level[targets]
    order: list[int] = np.lexsort((rank, *reversed(columns))).tolist()
    return order


def _level_ranks(rank: np.ndarray, level: np.ndarray, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return per number the rank of the box that it stands in: each before all that its edges lead to."""
    by_rank = np.argsort(rank)
    _, first, box_of = np.unique(level[by_rank], return_index=True, return_inverse=True)
    boxes = np.empty(len(rank), dtype=np.int64)
    boxes[by_rank] = np.argsort(np.argsort(first))[box_of]  # boxes are numbered as their first members rank
    starts, ends = boxes[sources], boxes[targets]
    order = reading_order(len(first), starts.tolist(), ends.tolist(), ends.tolist())
    place = np.empty(len(first), dtype=np.int64)
    place[np.asarray(order, dtype=np.int64)] = np.arange(len(first))
    return place[boxes]


def _rows(
    count: int, sources: Sequence[int], targets: Sequence[int], inputs: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return where the targets of each number begin in a list of all, and that list: by source, then by input."""
    order = np.lexsort((np.asarray(inputs, dtype=np.int64), np.asarray(sources, dtype=np.int64)))
    starts = np.searchsorted(np.asarray(sources, dtype=np.int64)[order], np.arange(count + 1))
    return starts.tolist(), np.asarray(targets, dtype=np.int64)[order].tolist()


def _tops(count: int, targets: Sequence[int]) -> list[int]:
    """Return what no edge leads to, the last first; behind it all others, of which only cycles are still to be met."""
    is_target = np.zeros(count, dtype=bool)
    is_target[np.asarray(targets, dtype=np.int64)] = True
    return [*np.flatnonzero(~is_target)[::-1].tolist(), *np.flatnonzero(is_target).tolist()]
