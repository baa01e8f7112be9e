"""Choosing entries: of rows, by masks and orders."""

from __future__ import annotations

from typing import Any

import numpy as np

# One element of each row: its index, reading it, and an array that is zero elsewhere.

_MOST = 100_000
"""The most rows whose beginnings are kept."""
_beginnings: dict[tuple[int, ...], Any] = {}


def are_classes(numbers: Any, classes: int) -> bool:
    """Whether whole numbers, at least one, are all from 0 up to ``classes``."""
    # (where the extremes are takes half the time of reductions, and of one reduction of numbers read without a sign)
    return bool(numbers.item(numbers.argmax()) < classes and numbers.item(numbers.argmin()) >= 0)


def picked(rows: Any, classes: Any) -> Any:
    """``rows[i, classes[i]]`` for each ``i``; more dimensions, or none, of ``classes`` are all rows."""
    if rows.ndim == 2 and rows.flags.c_contiguous:
        known = _beginnings.get(rows.shape)
        return rows.take((_begin(rows.shape) if known is None else known) + classes)
    return rows[_index(classes)]


def placed(sizes: tuple[int, ...], dtype: Any, classes: Any, values: Any) -> Any:
    """Zeros but for ``values`` where ``picked`` reads."""
    out = np.zeros(sizes, dtype)
    if len(sizes) == 2:
        known = _beginnings.get(sizes)
        out.put((_begin(sizes) if known is None else known) + classes, values)
    else:
        out[_index(classes)] = values
    return out


def _begin(sizes: tuple[int, ...]) -> Any:
    """Where the rows of a matrix begin, as positions in one long row."""
    count, width = sizes
    known = np.arange(0, count * width, width) if width else np.zeros(count, np.int64)
    if count <= _MOST:
        if len(_beginnings) > 64:
            _beginnings.clear()
        _beginnings[sizes] = known
    return known


def _index(classes: Any) -> tuple[Any, ...]:
    if not classes.ndim:
        return (classes,)
    return (*np.ogrid[tuple(slice(n) for n in classes.shape)], classes)


# Which of several equal elements is selected: the one that PyTorch's selection algorithms return.

# C++'s `nth_element`, `sort` and `partial_sort` as GNU's library has them: where equal items go.


class Items:
    """Places of a row's elements, put in order by the ranks of the elements."""

    def __init__(self, rank: list[int]) -> None:
        self.rank = rank
        self.at = list(range(len(rank)))

    def before(self, i: int, j: int) -> bool:
        """Whether what is at ``i`` comes before what is at ``j``."""
        return self.rank[self.at[i]] < self.rank[self.at[j]]

    def swap(self, i: int, j: int) -> None:
        """Exchange two items."""
        self.at[i], self.at[j] = self.at[j], self.at[i]

    def partition(self, first: int, last: int) -> int:
        """Divide a range by the median of three of its elements; where the second part begins."""
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if self.before(a, b):
            chosen = b if self.before(b, c) else c if self.before(a, c) else a
        else:
            chosen = a if self.before(a, c) else c if self.before(b, c) else b
        self.swap(first, chosen)
        low, high = first + 1, last
        while True:
            while self.before(low, first):
                low += 1
            high -= 1
            while self.before(first, high):
                high -= 1
            if low >= high:
                return low
            self.swap(low, high)
            low += 1

    def insertion_sort(self, first: int, last: int) -> None:
        """Order a range; equal items stay as they are."""
        self.at[first:last] = sorted(self.at[first:last], key=self.rank.__getitem__)

    def sift(self, first: int, hole: int, size: int, value: int) -> None:
        """Put an item into a heap from whose top, or below, one is missing."""
        at, rank, top = self.at, self.rank, hole
        child = hole
        while child < (size - 1) // 2:
            child = 2 * (child + 1)
            if rank[at[first + child]] < rank[at[first + child - 1]]:
                child -= 1
            at[first + hole] = at[first + child]
            hole = child
        if size % 2 == 0 and child == (size - 2) // 2:
            child = 2 * child + 1
            at[first + hole] = at[first + child]
            hole = child
        parent = (hole - 1) // 2
        while hole > top and rank[at[first + parent]] < rank[value]:
            at[first + hole] = at[first + parent]
            hole, parent = parent, (parent - 1) // 2
        at[first + hole] = value

    def heap_select(self, first: int, middle: int, last: int) -> None:
        """Bring the smallest items to the front, as a heap."""
        size = middle - first
        for parent in range((size - 2) // 2, -1, -1):
            self.sift(first, parent, size, self.at[first + parent])
        for i in range(middle, last):
            if self.before(i, first):
                value, self.at[i] = self.at[i], self.at[first]
                self.sift(first, 0, size, value)

    def partial_sort(self, first: int, middle: int, last: int) -> None:
        """Bring the smallest items to the front, in order."""
        self.heap_select(first, middle, last)
        for end in range(middle - 1, first, -1):
            value, self.at[end] = self.at[end], self.at[first]
            self.sift(first, 0, end - first, value)

    def nth_element(self, nth: int, last: int) -> None:
        """Bring the item of rank ``nth`` to its place, and those before it before it."""
        first, left = 0, 2 * (last.bit_length() - 1)
        while last - first > 3:
            if not left:
                self.heap_select(first, nth + 1, last)
                self.swap(first, nth)
                return
            left -= 1
            cut = self.partition(first, last)
            first, last = (cut, last) if cut <= nth else (first, cut)
        self.insertion_sort(first, last)

    def sort(self, last: int) -> None:
        """Order the first items."""
        ranges = [(0, last, 2 * (last.bit_length() - 1))] if last > 1 else []
        while ranges:
            first, end, left = ranges.pop()
            while end - first > 16:
                if not left:
                    self.partial_sort(first, end, end)
                    break
                left -= 1
                cut = self.partition(first, end)
                ranges.append((cut, end, left))
                end = cut
        self.insertion_sort(0, last)


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
