"""The steps ``modules`` and ``functions``: which module, scope or function of the user every atom belongs to.

A scope is one stretch of consecutive atoms.  A module that is called twice therefore gives two scopes.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

from .folded import Folded, Scope
from .inferred_modules import common_length, inferred_paths

_ANONYMOUS = re.compile(r"<.*>$")
_NUMBERED = re.compile(r"\d+(–\d+)?")
_FOLDERS = re.compile(r"[/\\]")


def add_scopes(folded: Folded, *, modules: bool, functions: bool) -> None:
    """Fill in ``folded.scopes`` from module paths and, where there is none, from the user's functions."""
    folded.scopes = [Scope("", "", "graph", -1, 0, len(folded))]
    paths = _paths(folded, modules, functions)
    _build(folded, paths)
    silent = {number for number in range(1, len(folded.scopes)) if _says_nothing(folded, number)}
    drop_scopes(folded, silent | _torn(folded))


def _says_nothing(folded: Folded, number: int) -> bool:
    """Whether a scope tells no more than what it holds: one atom, or a function of the user around everything."""
    scope = folded.scopes[number]
    return len(scope) == 1 or (scope.kind == "function" and len(scope) == len(folded))


def _torn(folded: Folded) -> set[int]:
    """Return the pieces of functions that call modules in between: each is no whole, and its frame says little.

    A function that takes turns with others is none of these: its pieces are calls of it.
    """
    scopes = folded.scopes
    functions = [number for number in scopes[0].children if scopes[number].kind == "function"]
    runs = [list(run) for _, run in groupby(functions, key=lambda number: _name(scopes[number]))]
    turns = Counter(_name(scopes[run[0]]) for run in runs)
    return {number for run in runs if len(run) > 1 and turns[_name(scopes[run[0]])] == 1 for number in run}


def _name(scope: Scope) -> str:
    """Return a scope's path without the number of its stretch."""
    return scope.path.partition("#")[0]


def _paths(folded: Folded, modules: bool, functions: bool) -> list[str]:
    """Return the path of every atom; a leaf with an atom of its own stands where the operator before it stands."""
    paths = inferred_paths(folded) if modules else None
    if paths is None:
        paths = _recorded_paths(folded, modules, functions)
    kind = folded.original.kind
    for atom, node in enumerate(folded.heads):
        if atom and kind[node] in ("leaf", "ghost"):
            paths[atom] = paths[atom - 1]
    return paths


def _recorded_paths(folded: Folded, modules: bool, functions: bool) -> list[str]:
    """Return the module or scope in which every atom was made or else, if wanted, the function of the user."""
    scope, source = folded.original.scope, folded.original.source
    known: dict[object, str] = {}
    found: list[str] = []
    for node in folded.heads:
        path = scope[node] if modules else ""
        at = source[node]
        if functions and not scope[node] and at is not None:
            key = (at.file, at.function)
            if key not in known:
                known[key] = _function_path(*key)
            path = known[key]
        found.append(path)
    return found


def _function_path(file: str, function: str) -> str:
    """Return the path of a function of the user, or nothing for code outside of named functions."""
    name = function.rpartition(".")[2]
    if _ANONYMOUS.match(name):
        return ""
    return f"{_FOLDERS.split(file)[-1]}:{name}()"


def _build(folded: Folded, paths: list[str]) -> None:
    """Open a scope where a path begins and close it where it ends."""
    scopes = folded.scopes
    used: dict[str, int] = {}
    parts: list[str] = []
    stack = [0]
    before = ""
    for atom, path in enumerate(paths):
        if path == before:
            continue
        before = path
        wanted = [part for part in path.split("/") if part]
        common = common_length(parts, wanted)
        for number in stack[common + 1 :]:
            scopes[number].end = atom
        del stack[common + 1 :]
        for part in wanted[common:]:
            stack.append(_open(folded, stack[-1], part, atom, used))
        parts = wanted
    for number in stack:
        scopes[number].end = len(folded)


def _open(folded: Folded, parent: int, part: str, atom: int, used: dict[str, int]) -> int:
    """Add a scope that begins at an atom; the second of a path is called ``path#2``."""
    scopes = folded.scopes
    path = f"{scopes[parent].path}/{part}" if scopes[parent].path else part
    used[path] = used.get(path, 0) + 1
    if used[path] > 1:
        path = f"{path}#{used[path]}"
    is_function = not parent and part.endswith("()")
    label = part.rpartition(":")[2] if is_function else part
    scopes[parent].children.append(len(scopes))
    scopes.append(Scope(label, path, "function" if is_function else "module", parent, atom, atom))
    return len(scopes) - 1


def drop_scopes(folded: Folded, gone: set[int]) -> None:
    """Take scopes away; what they hold falls to the scope around them.  Numbers change, their order does not."""
    if not gone:
        return
    scopes = folded.scopes
    kept = [number for number in range(len(scopes)) if number not in gone]
    renumbered = {number: place for place, number in enumerate(kept)}
    for number in kept[1:]:
        parent = scopes[number].parent
        while parent in gone:
            parent = scopes[parent].parent
        scopes[number].parent = renumbered[parent]
    folded.scopes = [scopes[number] for number in kept]
    relink(folded)


def merge_single(folded: Folded) -> None:
    """Make one scope of two that hold the same: ``model`` around nothing but ``layers``, a block of one scope."""
    scopes = folded.scopes
    gone: set[int] = set()
    for number in range(1, len(scopes)):
        scope, around = scopes[number], scopes[scopes[number].parent]
        rolled = {scope.kind, around.kind} & {"repeat"}
        if len(scope) != len(around) or around.kind in ("graph", "repeat") or (rolled and around.kind == "block"):
            continue
        gone.add(scope.parent)
        scope.aliases = (*scope.aliases, around.path, *around.aliases)
        if around.kind in ("module", "function"):
            dotted = around.kind == scope.kind == "module"
            scope.label = f"{around.label}{' ' if rolled else '.' if dotted else '/'}{scope.label}"
    drop_scopes(folded, gone)


def name_numbers(folded: Folded) -> None:
    """Let a scope that is called by a bare number say of what: ``layers.11``, ``features.1–2``."""
    for scope in folded.scopes:
        of = scope.path.rpartition("/")[0].rpartition("/")[2]
        if of and _NUMBERED.fullmatch(scope.label):
            scope.label = f"{of}.{scope.label}"


def sort_scopes(folded: Folded) -> None:
    """Number the scopes anew, parents before their children and children in the order of their atoms."""
    scopes = folded.scopes
    inside: list[list[int]] = [[] for _ in scopes]
    for number, scope in enumerate(scopes):
        if number:
            inside[scope.parent].append(number)
    order = [0]
    for number in order:  # grows while it is read
        order += sorted(inside[number], key=lambda child: scopes[child].begin)
    renumbered = {number: place for place, number in enumerate(order)}
    for number in order[1:]:
        scopes[number].parent = renumbered[scopes[number].parent]
    folded.scopes = [scopes[number] for number in order]
    relink(folded)


def relink(folded: Folded) -> None:
    """Work out the lists of children anew from the parents, in order of their atoms."""
    for scope in folded.scopes:
        scope.children = []
    for number, scope in enumerate(folded.scopes):
        if number:
            folded.scopes[scope.parent].children.append(number)
    for scope in folded.scopes:
        scope.children.sort(key=lambda child: folded.scopes[child].begin)
