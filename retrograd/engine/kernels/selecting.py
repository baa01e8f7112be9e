"""Which of several equal elements is chosen: the one that PyTorch's selection algorithms leave in the place asked for.

Values do not depend on it, indices do. The algorithms are Hoare's quickselect with the median of three (``kthvalue``)
and those of C++'s library (``topk``, ``mode``). Only rows where a choice exists come here, and those of
``topk(sorted=False)``; where they have too many elements together, the first of equal elements is chosen, and all are
in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .introsort import Items

MOST = 30_000
"""How many steps of 0.3 µs a call follows; more would take longer than the rest of it."""
SORTING = 8
"""Steps for an element that is put in order; one that is only looked at takes one."""


def kth_place(rank: list[int], k: int) -> int:
    """Where quickselect finds the ``k``-th element of a row, by the ranks of its elements."""
    a, at = list(rank), list(range(len(rank)))

    def swap(i: int, j: int) -> None:
        a[i], a[j] = a[j], a[i]
        at[i], at[j] = at[j], at[i]

    left, right = 0, len(a) - 1
    while right > left + 1:
        swap((left + right) >> 1, left + 1)
        for i, j in ((left + 1, right), (left, right), (left + 1, left)):
            if a[i] > a[j]:
                swap(i, j)
        i, j, pivot = left + 1, right, a[left]
        while True:
            i, j = i + 1, j - 1
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if j < i:
                break
            swap(i, j)
        swap(left, j)
        left, right = (i if j <= k else left), (j - 1 if j >= k else right)
    if right == left + 1 and a[left] > a[right]:
        swap(left, right)
    return at[k]


def top_places(rank: list[int], k: int, in_order: bool = True) -> list[int]:
    """The places of the first ``k`` elements in the order of their ranks, or as selection leaves them."""
    items = Items(rank)
    if k * 64 <= len(rank):
        items.partial_sort(0, k, len(rank))
    else:
        items.nth_element(k - 1, len(rank))
        if in_order:
            items.sort(k - 1)
    return items.at[:k]


def follow_selection(lines: Any, order: Any, k: int) -> Any:
    """The places of the first ``k`` elements of each line as selection leaves them, in no order of their own."""
    if not k or not 0 < lines.size <= MOST:
        return order[..., :k]
    ranks = _ranks(lines.reshape(-1, lines.shape[-1]), order.reshape(-1, lines.shape[-1])).tolist()
    return np.array([top_places(rank, k, False) for rank in ranks], order.dtype).reshape(*lines.shape[:-1], k)


def last_in_order(row: Any, value: Any) -> int:
    """The place of the last element of a value, once C++'s ``sort``, which is not stable, has put the row in order."""
    found = np.flatnonzero(row == value)
    if len(row) <= 16 or len(found) == 1 or (row != row).any():
        return int(found[-1])
    items = Items(_ranks(row, np.argsort(row, kind="stable")).tolist())
    items.sort(len(row))
    return next(i for i in reversed(items.at) if row[i] == value)


def _ranks(lines: Any, order: Any) -> Any:
    """Equal numbers for equal elements of each line, smaller ones for what ``order`` puts first."""
    ordered = np.take_along_axis(lines, order, -1)
    found = np.zeros(order.shape, np.int64)
    steps = np.cumsum(~_same(ordered[..., 1:], ordered[..., :-1]), -1)
    np.put_along_axis(found, order[..., 1:], steps, -1)
    return found


def _same(a: Any, b: Any) -> Any:
    return (a == b) | ((a != a) & (b != b))


def follow_ties(lines: Any, order: Any, taken: Any, places_of: Any, sorting: int = 0) -> Any:
    """The places that are taken of each line, as the algorithm finds them where equal elements leave a choice.

    ``order`` sorts the lines along the last axis; ``taken`` is the slice of it that is asked for.  ``places_of`` gets
    the ranks of a line's elements, of which it puts some, ``sorting``, in order.
    """
    near = slice(max(taken.start - 1, 0), taken.stop + 1)
    beside = np.take_along_axis(lines, order[..., near], -1)
    tied = _same(beside[..., 1:], beside[..., :-1]).any(-1)
    chosen = order[..., taken]
    if 0 < np.count_nonzero(tied) * (lines.shape[-1] + SORTING * sorting) <= MOST:
        chosen = chosen.copy()
        chosen[tied] = [places_of(rank) for rank in _ranks(lines[tied], order[tied]).tolist()]
    return chosen
