"""``Dependence``: on which sorts of leaves each tensor of a recording depends, worked out for all of them in one pass.

``Flow.behind`` answers the same for one tensor; a check that asks for each call of a long loop would walk the loop
once for each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable

from .calls import CallTable


class Dependence:
    """Which sorts of trainable leaves gradients from a tensor reach; sorts are bits of a number."""

    def __init__(self, flow: CallTable, sort_of: Callable[[int], int]) -> None:
        """Follow every call in order.  ``sort_of`` gives the bit of a trainable leaf."""
        self._flow = flow
        self._leaves = {leaf: sort_of(leaf) for leaf in flow.trainable(range(len(flow.tensors)))}
        self._made: dict[int, _Since] = defaultdict(_Since)
        self._written: dict[int, _Since] = defaultdict(_Since)
        rows = (row for kind in flow.rows for row in flow.rows[kind] if flow.has_node(row))
        for row in sorted(rows):
            self._follow(row)

    def _follow(self, row: int) -> None:
        flow, bits = self._flow, 0
        for given in flow.inputs(row):
            bits |= self.of(given, row)
        for out in flow.events[row].data.get("outputs", ()):
            self._made[out].add(row, bits)
        target = flow.target(row)
        storage = None if target is None else flow.facts(target).storage
        if storage is not None:
            self._written[storage].add(row, bits)

    def of(self, tensor: int, before: int) -> int:
        """Return the sorts of leaves behind a tensor just before a row."""
        found = 0
        while tensor is not None:
            facts = self._flow.facts(tensor)
            found |= self._leaves.get(tensor, 0)
            if tensor in self._made:
                found |= self._made[tensor].before(before)
            if facts.storage in self._written:
                found |= self._written[facts.storage].before(before)
            unseen = facts.view_of is not None and not facts.leaf and not self._flow.made_in.get(tensor)
            if not unseen or facts.view_of is None:
                return found
            tensor = facts.view_of  # a view that no recorded call made
        return found


class _Since:
    """Bits that come together over the rows of a recording."""

    __slots__ = ("bits", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.bits: list[int] = []

    def add(self, row: int, bits: int) -> None:
        """Add bits from a row on; rows come in order."""
        self.rows.append(row)
        self.bits.append(bits | (self.bits[-1] if self.bits else 0))

    def before(self, row: int) -> int:
        """Return the bits that were there before a row."""
        place = bisect_left(self.rows, row)
        return self.bits[place - 1] if place else 0
