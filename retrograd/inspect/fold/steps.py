"""The steps of folding, by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Collection

from ...errors import UsageError
from ..graphs.graph import Graph
from ..progress import tick
from .atoms import make_atoms
from .folded import Folded, Item, Scope
from .plumbing import merge_plumbing, plumbing_nodes
from .repeats import fold_repeats
from .scopes import add_scopes, merge_single, name_numbers, sort_scopes

_CHAIN = 10
"""Fewest operators of a chain that is folded."""
_CROWD = 64
"""Largest number of items side by side in one scope."""
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


STEPS = {
    "views": "transposes, views, casts and reshapes merge into the edge they are on",
    "parameters": "a parameter is drawn on the card of the operator that uses it, once per use",
    "modules": "modules and scopes are boxes",
    "functions": "your functions become boxes where there is no module",
    "repeats": "repeated blocks become one box with a count",
    "chains": "long rows of single operators become one box",
    "limits": "neighbours become one box where there are too many",
}
"""Steps that can be asked for, and what they do."""


def check_steps(steps: Collection[str]) -> frozenset[str]:
    """Return the steps as a set; raises ``UsageError`` for one that there is not."""
    unknown = sorted(set(steps) - STEPS.keys())
    if unknown:
        raise UsageError(f"There is no step {unknown[0]!r} of folding.", f"There are: {', '.join(STEPS)}.")
    return frozenset(steps)


def fold(snapshot: Graph, steps: Collection[str] = tuple(STEPS)) -> Folded:
    """Fold a graph by the named steps (all by default); the snapshot itself is kept unchanged in the result.

    Takes time linear in nodes and edges (times the depth of scopes) and does not recurse.
    """
    wanted = check_steps(steps)
    tick()
    folded = make_atoms(snapshot, _merged(snapshot, "views" in wanted), parameters="parameters" in wanted)
    tick()
    add_scopes(folded, modules="modules" in wanted, functions="functions" in wanted)
    tick()
    if "repeats" in wanted:
        fold_repeats(folded)
    if "chains" in wanted:
        fold_chains(folded)
    if "limits" in wanted:
        limit_crowds(folded)
    tick()
    merge_single(folded)
    name_numbers(folded)
    return folded


def _merged(snapshot: Graph, wanted: bool) -> bytearray:
    """Return which nodes merge into edges; none at all in a file where they lead in a circle."""
    none = bytearray(len(snapshot))
    if not wanted:
        return none
    merged = plumbing_nodes(snapshot)
    ends = merge_plumbing(snapshot, merged).last
    return none if any(merged[snapshot.edge_target[edge]] for edge in ends) else merged
