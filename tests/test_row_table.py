"""The table of rows by number that diagnoses look calls up in, and the calls that made nodes."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from retrograd.inspect.diagnosis import Flow
from retrograd.inspect.diagnosis.facts.row_table import RowTable
from retrograd.inspect.recording.events import Event, Recording


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1000))))
def test_rows_come_back_as_they_were_added(pairs: list[tuple[int, int]]) -> None:
    """A table gives what a dictionary of lists would, in the same order."""
    table, expected = RowTable(), defaultdict(list)
    for number, row in pairs:
        table.add(number, row)
        expected[number].append(row)

    assert [list(table[number]) for number in range(7)] == [expected.get(number, []) for number in range(7)]
    assert table.get(6, (-1,)) == (-1,)
    assert [list(rows) for rows in table.values()] == list(expected.values())


def held_by(make: Callable[[], Any]) -> int:
    """Bytes of what is made."""
    tracemalloc.start()
    try:
        made = make()
        return tracemalloc.get_traced_memory()[0] if made is not None else 0
    finally:
        tracemalloc.stop()


def test_single_rows_take_little_memory() -> None:
    """A table of 3,000 numbers with a row each takes less than half of a dictionary of lists."""
    rows = list(range(1000, 4000))

    def table() -> RowTable:
        made = RowTable()
        for row in rows:
            made.add(row, row)
        return made

    def lists() -> dict[int, list[int]]:
        made: dict[int, list[int]] = defaultdict(list)
        for row in rows:
            made[row].append(row)
        return made

    assert held_by(table) < held_by(lists) / 2


def test_nodes_lead_to_their_calls() -> None:
    """A node is found by its number, of whatever size, among nodes that one call made; others belong to no call."""
    made = [Event("operation", "sum", data={"nodes": [900, 902]}), Event("function", "F", data={"node": 70})]
    flow = Flow(Recording(events=made))

    assert [flow.call_of_node(number) for number in (900, 901, 70)] == [0, 0, 1]
    assert [flow.call_of_node(number) for number in (None, 0, 71, 899, 902)] == [None] * 5
