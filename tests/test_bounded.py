"""The dictionary of caches that a long program could fill without end."""

from __future__ import annotations

from retrograd.inspect.bounded import BoundedDict


def test_a_full_dictionary_starts_afresh() -> None:
    """It never holds more than its limit, and what was assigned last is always there."""
    squares: BoundedDict[int, int] = BoundedDict(10)
    largest = 0
    for number in range(1_000):
        squares[number] = number * number
        assert squares.get(number) == number * number
        largest = max(largest, len(squares))
    assert largest == 10
