"""``Dependence``: on which sorts of leaves each tensor of a recording depends, worked out for all of them in one pass.

``Flow.behind`` answers the same for one tensor; a check that asks for each call of a long loop would walk the loop
once for each.
"""

from __future__ import annotations

from collections.abc import Callable

from ..facts.calls import CallTable


class Dependence:
    """Which sorts of trainable leaves gradients from a tensor reach; sorts are bits of a number."""

    def __init__(self, flow: CallTable, sort_of: Callable[[int], int]) -> None:
        """Follow every call in order.  ``sort_of`` gives the bit of a trainable leaf."""
        self._flow = flow
        self._leaves = {leaf: sort_of(leaf) for leaf in flow.trainable(range(len(flow.tensors)))}
        self._made, self._written = _Since(), _Since()
        rows = (row for kind in flow.rows for row in flow.rows[kind] if flow.has_node(row))
        for row in sorted(rows):
            self._follow(row)

    def _follow(self, row: int) -> None:
        flow, bits = self._flow, 0
        for given in flow.inputs(row):
            bits |= self.of(given, row)
        for out in flow.events[row].data.get("outputs", ()):
            self._made.add(out, row, bits)
        target = flow.target(row)
        storage = None if target is None else flow.facts(target).storage
        if storage is not None:
            self._written.add(storage, row, bits)

    def of(self, tensor: int, before: int) -> int:
        """Return the sorts of leaves behind a tensor just before a row."""
        found = 0
        while tensor is not None:
            facts = self._flow.facts(tensor)
            found |= self._leaves.get(tensor, 0)
            found |= self._made.before(tensor, before)
            if facts.storage is not None:
                found |= self._written.before(facts.storage, before)
            unseen = facts.view_of is not None and not facts.leaf and not self._flow.made_in.get(tensor)
            if not unseen or facts.view_of is None:
                return found
            tensor = facts.view_of  # a view that no recorded call made
        return found


class _Since:
    """For each number, of a tensor or of memory, bits that come together over the rows of a recording."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[int, ...]] = {}
        """A row and the bits from there on, and so forth; mostly it is one of each."""

    def add(self, number: int, row: int, bits: int) -> None:
        """Add bits from a row on; rows come in order."""
        steps = self._steps.get(number, ())
        so_far = steps[-1] if steps else 0
        if not steps or bits | so_far != so_far:
            self._steps[number] = (*steps, row, bits | so_far)

    def before(self, number: int, row: int) -> int:
        """Return the bits that were there before a row."""
        steps = self._steps.get(number, ())
        for place in range(len(steps) - 2, -1, -2):
            if steps[place] < row:
                return steps[place + 1]
        return 0
