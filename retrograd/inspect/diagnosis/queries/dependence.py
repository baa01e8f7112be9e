"""What depends on what, and what all paths pass through."""

from __future__ import annotations

from collections.abc import Callable

from ...graphs.graph import Graph
from ..facts.calls import CallTable
from ..facts.nodes import ran

# Nodes that every gradient on its way to another node goes through: its dominators.


def passed_by_all(snapshot: Graph, node: int) -> list[int]:
    """Return the nodes on every path from the roots of a graph to a node, nearest to the roots first."""
    order = ran(snapshot)
    place = {one: number for number, one in enumerate(order)}
    users: dict[int, list[int]] = {}
    for source, target, _, _ in snapshot.edges():
        if source in place:
            users.setdefault(target, []).append(source)
    nowhere = -1  # before the roots
    last = {nowhere: nowhere}  # node -> the nearest that every way to it leads through
    place[nowhere] = nowhere
    for one in order[: place[node] + 1]:
        first, *others = users.get(one) or [nowhere]
        for other in others:
            while first != other:  # whichever ran later is left for what is nearer to the roots
                if place[first] > place[other]:
                    first = last[first]
                else:
                    other = last[other]
        last[one] = first
    found = [node]
    while last[found[-1]] != nowhere:
        found.append(last[found[-1]])
    return found[:0:-1]


# `Dependence`: on which sorts of leaves each tensor of a recording depends, worked out for all of them in one pass.


class Dependence:
    """The kinds of trainable leaves that gradients from a tensor reach; kinds are bits of a number."""

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
