"""C++'s ``nth_element``, ``sort`` and ``partial_sort`` as GNU's library has them: where equal items go."""

from __future__ import annotations


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
