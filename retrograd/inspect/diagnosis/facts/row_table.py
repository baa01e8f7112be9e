"""Rows of a recording: of each tensor or memory (``RowTable``), of a walk (``Reached``), and one among sorted rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence


class RowTable:
    """Number -> its rows, in the order in which they were added.

    A single row is held as it is: a list for each of a million tensors would take three times the memory.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, int | list[int]] = {}

    def add(self, number: int, row: int) -> None:
        """Add a row to those of a number."""
        have = self._rows.get(number)
        if have is None:
            self._rows[number] = row
        elif isinstance(have, list):
            have.append(row)
        else:
            self._rows[number] = [have, row]

    def get(self, number: int, default: Sequence[int] = ()) -> Sequence[int]:
        """Return the rows of a number, or something else if it has none."""
        have = self._rows.get(number)
        if have is None:
            return default
        return have if isinstance(have, list) else (have,)

    def __getitem__(self, number: int) -> Sequence[int]:
        return self.get(number)

    def values(self) -> Iterator[Sequence[int]]:
        """Yield the rows of each number that has some."""
        return map(self.get, self._rows)


class Reached:
    """Result of a walk: calls by event index, and tensors."""

    __slots__ = ("calls", "tensors")

    def __init__(self) -> None:
        self.calls: set[int] = set()
        self.tensors: set[int] = set()


def last_before(rows: Sequence[int], row: int) -> int:
    """Return the last of sorted event indices before another one, -1 for none."""
    place = bisect_left(rows, row)
    return rows[place - 1] if place else -1


def first_between(rows: Sequence[int], after: int, before: int) -> int | None:
    """Return the first of sorted rows between two."""
    place = bisect_right(rows, after)
    return rows[place] if place < len(rows) and rows[place] < before else None
