"""The steps ``chains`` and ``limits``: long rows of single operators, and scopes that hold too much to be looked at."""

from __future__ import annotations

from .folded import Folded, Item, Scope
from .scopes import sort_scopes

_CHAIN = 10
"""Fewest operators of a chain that is folded."""
_CROWD = 64
"""Most items that stand side by side in one scope."""
_STRETCH = 24
"""Items of one stretch."""
_NAMED = ("module", "function")
"""Kinds of scopes that the program gave a name."""


def fold_chains(folded: Folded) -> None:
    """Put runs of operators that have one way in and one way out each into a scope of their own."""
    follows = _follows(folded)
    for number in range(len(folded.scopes)):
        scope = folded.scopes[number]
        if len(scope) < _CHAIN or scope.kind == "repeat":
            continue
        items = folded.items(number)
        start = 0
        for place in range(1, len(items) + 1):
            here = items[place] if place < len(items) else None
            before = items[place - 1]
            if here and here.scope < 0 and before.scope < 0 and follows[here.begin]:
                continue
            if place - start >= _CHAIN and place - start < len(items):
                _add(folded, number, items[start:place], "chain", "chain")
            start = place
    sort_scopes(folded)


def _follows(folded: Folded) -> bytearray:
    """Return which atoms are the one target of the atom before them and have no other source."""
    ins, outs = [0] * (len(folded) + 1), [0] * (len(folded) + 1)
    joined = bytearray(len(folded) + 1)
    for source, target in zip(folded.sources, folded.targets, strict=True):
        outs[source] += 1
        ins[target] += 1
        if target == source + 1:
            joined[target] = 1
    return bytearray(1 if joined[atom] and ins[atom] == 1 and outs[atom - 1] == 1 else 0 for atom in range(len(folded)))


def limit_crowds(folded: Folded) -> None:
    """Divide every scope with very many items into stretches of neighbours, these again, until none is crowded.

    Operators and repeats go first: modules have names that people look for.
    """
    for number in range(len(folded.scopes)):
        scope = folded.scopes[number]
        if len(scope) <= _CROWD or scope.kind == "repeat":
            continue  # a repeat's blocks are never shown side by side unless asked for
        items = folded.items(number)
        level, apart = 0, True
        while len(items) > _CROWD:
            level += 1
            groups = _neighbours(folded, items, apart=apart)
            apart = apart and len(groups) < len(items)
            items = [
                _add(folded, number, group, "stretch", f"part-{level}") if len(group) > 1 else group[0]
                for group in groups
            ]
    sort_scopes(folded)


def _neighbours(folded: Folded, items: list[Item], *, apart: bool) -> list[list[Item]]:
    """Return items in groups of neighbours; with ``apart`` every module is a group of its own."""
    groups: list[list[Item]] = []
    joins = False
    for item in items:
        alone = apart and item.scope >= 0 and folded.scopes[item.scope].kind in _NAMED
        if joins and not alone and len(groups[-1]) < _STRETCH:
            groups[-1].append(item)
        else:
            groups.append([item])
        joins = not alone
    return groups


def _add(folded: Folded, parent: int, items: list[Item], kind: str, name: str) -> Item:
    """Put items into a new scope and return it as an item."""
    scopes = folded.scopes
    made = len(scopes)
    begin, end = items[0].begin, items[-1].end
    path = f"{scopes[parent].path}/{name}-{begin}".lstrip("/")
    scopes.append(Scope(_span(folded, begin, end), path, kind, parent, begin, end))
    for item in items:
        if item.scope >= 0:
            scopes[item.scope].parent = made
    return Item(begin, end, made)


def _span(folded: Folded, begin: int, end: int) -> str:
    """Return the names of the first and last operator of a run, in the order in which they ran."""
    return f"{folded.operator(end - 1)} … {folded.operator(begin)}"
