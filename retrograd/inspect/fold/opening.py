"""Decides which scopes of a drawing are open at first: as many as fit a number of boxes, outer scopes first."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable

from ...errors import NotInGraphError
from .folded import ROOT, Folded

MAX_BOXES = 20
"""Default number of boxes of a drawing,"""
SOFT = 2
"""and the factor by which that may be exceeded for a scope with most of the graph, which closed would show nothing."""
SMALL = 30
"""Atoms up to which a graph is shown whole."""
_LAYER = 3
"""Atoms of a layer that is not opened: its name says more than they do."""
DEEPEST = 4
"""Nested frames that a drawing opens by itself: more of them take room and are hard to read."""


class Opening:
    """A choice of scopes: those that are open, and the repeats that show all their blocks."""

    __slots__ = ("opened", "unrolled")

    def __init__(self, opened: Iterable[int] = (), unrolled: Iterable[int] = ()) -> None:
        self.opened = {ROOT, *opened}
        self.unrolled = set(unrolled)


def everything(folded: Folded) -> Opening:
    """Return the choice that shows every atom."""
    numbers = range(len(folded.scopes))
    return Opening(numbers, (number for number in numbers if folded.scopes[number].kind == "repeat"))


def first_opening(folded: Folded, max_boxes: int | None = None) -> Opening:
    """Return what a drawing opens with: all of a small graph, else outer scopes first up to ``max_boxes`` boxes."""
    if max_boxes is not None and len(folded) <= max_boxes:
        return everything(folded)
    if max_boxes is None and len(folded) <= SMALL:
        return _as_is_read(folded, everything(folded))
    chosen = _outer_first(folded, max_boxes or MAX_BOXES, 1 if max_boxes is not None else SOFT)
    return chosen if max_boxes is not None else _as_is_read(folded, chosen)


def _outer_first(folded: Folded, limit: int, soft: int) -> Opening:
    """Open scopes, outer ones before inner ones, as long as there are at most ``limit`` boxes to be seen.

    A scope with most of the graph may make it ``soft`` times as many.
    """
    chosen = Opening()
    shown = len(folded.items(ROOT))
    waiting = deque(folded.scopes[ROOT].children)
    while waiting:
        number = waiting.popleft()
        scope = folded.scopes[number]
        if _is_one_layer(folded, number):
            continue
        inner = number
        if scope.kind == "repeat":
            if not scope.children:
                continue  # many times one operator: opening it shows no more
            inner = scope.children[0]
        more = len(folded.items(inner)) - 1
        if shown + more <= limit * (soft if 2 * len(scope) > len(folded) else 1):
            shown += more
            chosen.opened.add(number)
            waiting.extend(folded.scopes[inner].children)
    return chosen


def _as_is_read(folded: Folded, chosen: Opening) -> Opening:
    """Close open scopes that are one layer or inside more than ``DEEPEST`` others; a repeat and its block are one."""
    depths = [0] * len(folded.scopes)
    for number, scope in enumerate(folded.scopes):
        if number:
            depths[number] = depths[scope.parent] + (folded.scopes[scope.parent].kind != "repeat")
    kept = (number for number in chosen.opened if depths[number] <= DEEPEST and not _is_one_layer(folded, number))
    return Opening(kept, chosen.unrolled)


def _is_one_layer(folded: Folded, number: int) -> bool:
    """Whether a scope is a layer of a library that took few operators: its class is what the program called.

    A linear layer of a batch of sequences is a product and a sum, and its name says both.
    """
    scope = folded.scopes[number]
    if scope.kind != "module" or scope.children or len(scope) > _LAYER:
        return False
    atoms = range(scope.begin, scope.end)
    if any(folded.original.kind[folded.heads[atom]] == "ghost" for atom in atoms):
        return False  # what ends a gradient is to be seen
    return folded.class_of(number) in {folded.operator(atom) for atom in atoms} - {""}


def expand(folded: Folded, chosen: Opening, paths: Iterable[str]) -> None:
    """Open the named scopes and their ancestors, or (for ``all``) everything.

    Raises ``NotInGraphError`` for a path that the graph does not have.
    """
    for path in paths:
        if path == "all":
            whole = everything(folded)
            chosen.opened |= whole.opened
            chosen.unrolled |= whole.unrolled
            continue
        numbers = _named(folded, path)
        for number in numbers:
            _open_ancestors(folded, chosen, number)


def open_at(folded: Folded, chosen: Opening, nodes: Iterable[int]) -> None:
    """Open all scopes around some nodes."""
    atoms = sorted({folded.atom_of[node] for node in nodes})
    for number, scope in enumerate(folded.scopes):
        place = bisect_left(atoms, scope.begin)
        if place < len(atoms) and atoms[place] < scope.end:
            chosen.opened.add(number)


def _named(folded: Folded, path: str) -> list[int]:
    """Return the scopes with a path: all calls of a module."""
    wanted = path.strip().strip("/")
    found = [number for number, scope in enumerate(folded.scopes) if number and wanted in folded.names(number)]
    if not found:
        known = [scope.path for scope in folded.scopes[1:13]]
        raise NotInGraphError(
            f"There is no scope {path!r} to expand.",
            f"It has: {', '.join(known) or 'none'}{' …' if len(folded.scopes) > 13 else ''}.",
            "expand",
            path,
        )
    return found


def _open_ancestors(folded: Folded, chosen: Opening, number: int) -> None:
    """Open a scope and its ancestors; a repeat shows all its blocks if another than its first is meant."""
    inner = -1
    for outer in folded.above(number):
        scope = folded.scopes[outer]
        if scope.kind == "repeat" and inner >= 0 and inner != scope.children[0]:
            chosen.unrolled.add(outer)
        chosen.opened.add(outer)
        inner = outer
