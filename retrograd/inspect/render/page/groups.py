"""The boxes that the page opens and closes: the scopes of a folded graph, without the smallest ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...fold import Folded, Opening
from ...program.places import SourceLine
from .. import labels

_LEAST = 2
"""Atoms of the smallest scope that gets a box; those of smaller ones are in the box around it."""
_MOST = 4000
"""Boxes of one page; above that the smallest are left out."""


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
    lines: list[str] = field(default_factory=list)
    """The lines of the program from which the operators of each box come, where they are of one file."""
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

    def opened(self, folded: Folded, chosen: Opening) -> dict[str, list[int]]:
        """Return what is open when a page opens: the boxes of open scopes, and the blocks that open repeats show.

        ``unrolled`` are the repeats that show all their blocks.
        """
        scopes = folded.scopes
        rolled = [number for number in chosen.opened - chosen.unrolled if scopes[number].kind == "repeat"]
        shown = {scopes[number].children[0] for number in rolled if scopes[number].children}
        return {
            "open": sorted({self.of_scope[scope] for scope in chosen.opened | shown}),
            "unrolled": sorted({self.of_scope[scope] for scope in chosen.unrolled}),
        }

    def own(self, folded: Folded, scope: int) -> int:
        """Return the box of a scope, -1 for one that has no box of its own."""
        box = self.of_scope[scope]
        return box if not scope or box != self.of_scope[folded.scopes[scope].parent] else -1


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
    groups.lines = _lines(folded, groups)
    return groups


def _lines(folded: Folded, groups: Groups) -> list[str]:
    """Return the lines of all boxes; the content of a box also counts for those around it."""
    found: list[set[SourceLine]] = [set() for _ in groups.names]
    for box, node in zip(groups.of_atom, folded.heads, strict=True):
        source = folded.original.source[node]
        if source is not None:
            found[box].add(source)
    for box in range(len(found) - 1, 0, -1):  # a box has a higher number than the one around it
        found[groups.parents[box]] |= found[box]
    return [labels.lines_text(lines) for lines in found]


def _name(folded: Folded, number: int) -> str:
    """Return what a box is called, with its class; a repeat says of what and how often."""
    scope, name = folded.scopes[number], folded.title(number)
    return labels.clean(f"{name} × {scope.repeats}" if scope.repeats > 1 else name)
