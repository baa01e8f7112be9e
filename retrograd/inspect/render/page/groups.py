"""The tree of boxes that the page opens and closes: modules and scopes, from the nodes' scope paths."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from retrograd.inspect.snapshot import GraphSnapshot

_LEAST = 3
"""Nodes of the smallest module that gets a box; the nodes of smaller ones stand in the box around it."""
_MOST = 4000
"""Boxes of one page; above that the smallest are left out."""
_DEEPEST = 24
_OPEN_AT_FIRST = 20
"""Most cards that a page shows when it opens."""


@dataclass(slots=True)
class Groups:
    """Boxes in boxes: box 0 is the whole graph, and a box has a higher number than the one around it."""

    names: list[str]
    """The part of the scope path that a box adds to the one around it."""
    parents: list[int]
    """Box around each box; -1 for box 0."""
    of_node: list[int]
    """Box of every node."""

    def __len__(self) -> int:
        return len(self.names)

    def depths(self) -> list[int]:
        """Return how many boxes are around each box."""
        depths = [0] * len(self)
        for group in range(1, len(self)):
            depths[group] = depths[self.parents[group]] + 1
        return depths

    def open_at_first(self) -> list[int]:
        """Return the boxes that a page opens by itself: the largest first, while few cards are to be seen."""
        cards, totals = [0] * len(self), [0] * len(self)
        inner: list[list[int]] = [[] for _ in cards]
        for group in self.of_node:
            cards[group] += 1
            totals[group] += 1
        for group in range(len(self) - 1, 0, -1):
            around = self.parents[group]
            cards[around] += 1
            totals[around] += totals[group]
            inner[around].append(group)
        seen, opened, waiting = cards[0], [0], [(-totals[group], group) for group in inner[0]]
        heapq.heapify(waiting)
        while waiting:
            _, group = heapq.heappop(waiting)
            if seen - 1 + cards[group] <= _OPEN_AT_FIRST:
                seen += cards[group] - 1
                opened.append(group)
                for each in inner[group]:
                    heapq.heappush(waiting, (-totals[each], each))
        return sorted(opened)


def groups_of(snapshot: GraphSnapshot) -> Groups:
    """Return the boxes of a graph."""
    tree = _Tree()
    places = {scope: tree.place(scope) for scope in dict.fromkeys(snapshot.scope)}
    return tree.thinned([places[scope] for scope in snapshot.scope])


class _Tree:
    """All scope paths as a tree of their parts."""

    def __init__(self) -> None:
        self.parents = [-1]
        self.parts = [""]
        self._children: dict[tuple[int, str], int] = {}

    def place(self, scope: str) -> int:
        """Return the number of a scope path, added if it is new."""
        here = 0
        for part in scope.split("/", _DEEPEST) if scope else ():
            child = self._children.setdefault((here, part), len(self.parts))
            if child == len(self.parts):
                self.parts.append(part)
                self.parents.append(here)
            here = child
        return here

    def thinned(self, of_node: list[int]) -> Groups:
        """Return the parts that deserve a box of their own."""
        totals = self._totals(of_node)
        keep = self._kept(totals, set(of_node))
        names, parents, box_of = [""], [-1], [0] * len(self.parts)
        pending = [""] * len(self.parts)
        for number in range(1, len(self.parts)):
            around = self.parents[number]
            name = self._name(number, pending[around])
            if keep[number]:
                box_of[number] = len(names)
                names.append(name)
                parents.append(box_of[around])
            else:
                box_of[number] = box_of[around]
                pending[number] = name
        return Groups(names, parents, [box_of[number] for number in of_node])

    def _name(self, number: int, skipped: str) -> str:
        """Return what a part is called: a bare number says of what, ``layers.11``; parts without a box go before."""
        part = self.parts[number]
        if skipped:
            return f"{skipped}/{part}"
        return f"{self.parts[self.parents[number]]}.{part}" if part.isdigit() and self.parents[number] else part

    def _totals(self, of_node: list[int]) -> list[int]:
        """Return how many nodes stand in each part or below it."""
        totals = [0] * len(self.parts)
        for number in of_node:
            totals[number] += 1
        for number in range(len(totals) - 1, 0, -1):
            totals[self.parents[number]] += totals[number]
        return totals

    def _kept(self, totals: list[int], holders: set[int]) -> list[bool]:
        """Return which parts get a box: not the small ones, and not those that only hold one other part."""
        least = max(_LEAST, sorted(totals, reverse=True)[_MOST] + 1 if len(totals) > _MOST else 0)
        keep = [total >= least for total in totals]
        for number in range(1, len(totals)):
            around = self.parents[number]
            if around and around not in holders and totals[number] == totals[around]:
                keep[around] = False
        return keep
