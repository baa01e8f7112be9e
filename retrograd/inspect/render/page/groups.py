"""The boxes that the page opens and closes: the scopes of a folded graph, without those too small to be worth one."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...fold import DEEPEST, SMALL, Folded, Opening, expand
from .. import labels

_LEAST = 2
"""Atoms of the smallest scope that gets a box; those of smaller ones stand in the box around it."""
_MOST = 4000
"""Boxes of one page; above that the smallest are left out."""
_OPEN_AT_FIRST = 20
"""Most cards that a page shows when it opens."""


@dataclass(slots=True)
class Groups:
    """Boxes in boxes: box 0 is the whole graph, and a box has a higher number than the one around it."""

    names: list[str]
    paths: list[str]
    repeats: list[int]
    """How many equal blocks a box holds; 1 for most."""
    parents: list[int]
    """Box around each box; -1 for box 0."""
    of_atom: list[int]
    """Box directly around every atom."""
    of_scope: list[int]
    """Box of every scope: its own, or the one around it."""
    modules: int = 0
    """How many of the boxes are modules."""

    def __len__(self) -> int:
        return len(self.names)

    def depths(self) -> list[int]:
        """Return how many boxes are around each box."""
        depths = [0] * len(self)
        for group in range(1, len(self)):
            depths[group] = depths[self.parents[group]] + 1
        return depths

    def too_deep(self) -> set[int]:
        """Return the boxes that stay closed because of those around them; a repeat and its block count as one."""
        depths, found = [0] * len(self), set()
        for group in range(1, len(self)):
            depths[group] = depths[self.parents[group]] + (self.repeats[self.parents[group]] == 1)
            if depths[group] > DEEPEST:
                found.add(group)
        return found

    def opened(self, folded: Folded, paths: Sequence[str] = (), most: int | None = None) -> dict[str, list[int]]:
        """Return what is open when a page opens: ``open_at_first`` and the boxes of ``paths`` (as ``--expand``).

        ``unrolled`` are the repeats that show all their blocks: those of ``paths``, and those of a small graph.

        Raises ``UsageError`` for a path that the graph does not have.
        """
        chosen = Opening()
        expand(folded, chosen, paths)
        if len(folded) <= SMALL and most is None:
            chosen.unrolled |= {number for number, scope in enumerate(folded.scopes) if scope.kind == "repeat"}
        unrolled = {self.of_scope[scope] for scope in chosen.unrolled}
        return {
            "open": sorted({*self.open_at_first(most, unrolled), *(self.of_scope[scope] for scope in chosen.opened)}),
            "unrolled": sorted(unrolled),
        }

    def open_at_first(self, most: int | None = None, unrolled: Collection[int] = ()) -> list[int]:
        """Return the boxes that a page opens by itself: the largest first, while few cards are to be seen."""
        cards, inner = self._shown_inside(unrolled)
        totals = self._atoms_inside()
        seen, opened, waiting = cards[0], [0], [(-totals[group], group) for group in inner[0]]
        heapq.heapify(waiting)
        closed = self.too_deep() if most is None else set()
        while waiting:
            _, group = heapq.heappop(waiting)
            if group not in closed and seen - 1 + cards[group] <= (most or _OPEN_AT_FIRST):
                seen += cards[group] - 1
                opened.append(group)
                for each in inner[group]:
                    heapq.heappush(waiting, (-totals[each], each))
        return sorted(opened)

    def _atoms_inside(self) -> list[int]:
        """Return how many atoms each box holds, those of boxes inside it included."""
        totals = [0] * len(self)
        for group in self.of_atom:
            totals[group] += 1
        for group in range(len(self) - 1, 0, -1):
            totals[self.parents[group]] += totals[group]
        return totals

    def _shown_inside(self, unrolled: Collection[int]) -> tuple[list[int], list[list[int]]]:
        """Return how many cards each box shows directly inside it when open, and which of them are boxes."""
        cards = [0] * len(self)
        inner: list[list[int]] = [[] for _ in cards]
        for group in self.of_atom:
            cards[group] += 1
        for group in range(len(self) - 1, 0, -1):
            cards[self.parents[group]] += 1
            inner[self.parents[group]].append(group)
        for group, repeats in enumerate(self.repeats):
            if 1 < repeats == cards[group] and group not in unrolled:  # the page shows one block, the first
                cards[group], inner[group] = 1, inner[group][-1:]
        return cards, inner


def groups_of(folded: Folded) -> Groups:
    """Return the boxes of a folded graph."""
    scopes = folded.scopes
    sizes = sorted((len(scope) for scope in scopes), reverse=True)
    least = max(_LEAST, sizes[_MOST] + 1 if len(sizes) > _MOST else 0)
    groups = Groups([""], [""], [1], [-1], [], [])
    box_of = [0] * len(scopes)
    for number, scope in enumerate(scopes):
        if number and len(scope) >= least:
            box_of[number] = len(groups)
            groups.names.append(_name(folded, number))
            groups.paths.append(labels.clean(scope.path))
            groups.repeats.append(scope.repeats)
            groups.parents.append(box_of[scope.parent])
            groups.modules += scope.kind == "module"
        elif number:
            box_of[number] = box_of[scope.parent]
    groups.of_scope = box_of
    groups.of_atom = [box_of[scope] for scope in folded.scope_of_atoms().tolist()]
    return groups


def _name(folded: Folded, number: int) -> str:
    """Return what a box is called, with its class; a repeat says of what and how often."""
    scope, name = folded.scopes[number], folded.title(number)
    of = scope.path.rpartition("/")[0].rpartition("/")[2]
    if of and scope.kind == "repeat" and of not in name:
        name = f"{of} {name}"
    return labels.clean(f"{name} × {scope.repeats}" if scope.repeats > 1 else name)
