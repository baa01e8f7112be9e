"""The steps ``modules`` and ``functions``: finds the module, scope or user function to which each atom belongs.

A scope is one stretch of consecutive atoms.  A module that is called twice therefore gives two scopes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from ..graphs.graph import INPUT
from .atoms import hangs
from .folded import Folded, Scope

# Infers module paths from the dotted names of parameters, for a graph whose construction was not recorded.
#
# `walk(loss, model)` looks at a graph after the fact: no module was seen to run, so no node has a scope. But
# `layers.0.norm1.weight` gives the module of its operator, and an operator without parameters ran between two
# operators whose modules are known.

_PARAMETER = re.compile(r"\w+(\.\w+)+", re.ASCII)

Path = tuple[str, ...]
"""The parts of a module's path, outermost first; empty for the outermost module itself."""


def inferred_paths(folded: Folded) -> list[str] | None:
    """Return the module path of every atom; None if scopes or source lines are known, or no parameter shows any.

    An operator with parameters is in the module that holds them.  One without is in the module around that of the
    operator that ran before it, or deeper if the next operator with parameters is in there as well: the ReLU
    after ``layers.0.bn1`` in ``layers.0``, attention's softmax between ``attn.qkv`` and ``attn.out`` in ``attn``.
    One that joins what comes from outside, the sum after ``layers.0.attn.out``, belongs to the block, ``layers.0``.
    """
    snapshot = folded.original
    if any(snapshot.scope) or any(snapshot.source):
        return None
    own = _own_paths(folded)
    if not any(own):
        return None
    return ["/".join(path) for path in _placed(folded, own)]


def _placed(folded: Folded, own: list[Path | None]) -> list[Path]:
    """Give operators without parameters a path, in the order in which they ran."""
    inputs = _inputs(folded)
    following = _paths_after(own)
    placed: list[Path] = [()] * len(own)
    before: Path = ()
    for atom in range(len(own) - 1, -1, -1):
        path = own[atom]
        if path is None:
            common = _common(before, following[atom])
            path = max(before[:-1], common, key=len)
            if any(placed[given][: len(path)] != path for given in inputs.get(atom, ())):
                path = max(common, _to_number(path), key=len) or path
                before = (*path, "")  # what runs next without parameters is its sibling
        else:
            before = path
        placed[atom] = path
    return placed


def _inputs(folded: Folded) -> dict[int, list[int]]:
    """Return per atom the operators whose results it takes."""
    kinds, heads = folded.original.kind, folded.heads
    inputs: dict[int, list[int]] = {}
    for source, target in zip(folded.sources, folded.targets, strict=True):
        if kinds[heads[target]] not in ("leaf", "ghost"):
            inputs.setdefault(source, []).append(target)
    return inputs


def _to_number(path: Path) -> Path:
    """Return the path up to its last number: the innermost of several equal modules."""
    numbered = [place for place, part in enumerate(path) if part.isdecimal()]
    return path[: numbered[-1] + 1] if numbered else ()


def _own_paths(folded: Folded) -> list[Path | None]:
    """Return per atom the innermost module that holds all parameters it uses, None without parameters."""
    own: list[Path | None] = [None] * len(folded)
    for atom, leaves in folded.rows.items():
        for leaf in leaves:
            _note(own, atom, folded.original.name[leaf])
    kinds = folded.original.kind
    for source, target in zip(folded.sources, folded.targets, strict=True):
        if kinds[folded.heads[target]] == "leaf":
            _note(own, source, folded.original.name[folded.heads[target]])
    return own


def _note(own: list[Path | None], atom: int, name: str | None) -> None:
    """Put an atom into the module of a parameter, or around both if it has one already."""
    if name is None or not _PARAMETER.fullmatch(name):
        return
    path = tuple(name.split(".")[:-1])
    known = own[atom]
    own[atom] = path if known is None else _common(known, path)


def _paths_after(own: list[Path | None]) -> list[Path]:
    """Return per atom the path of the next one to run that has parameters; atoms are in backward's order."""
    after: list[Path] = []
    latest: Path = ()
    for path in own:
        after.append(latest)
        latest = latest if path is None else path
    return after


def _common(first: Path, second: Path) -> Path:
    """Return the common prefix of two paths."""
    return first[: common_length(first, second)]


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the common prefix of two paths."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length


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
    """Whether a scope adds no information: it holds a single atom, or is a user function around everything."""
    scope = folded.scopes[number]
    return len(scope) == 1 or (scope.kind == "function" and len(scope) == len(folded))


def _torn(folded: Folded) -> set[int]:
    """Return the pieces of functions that call modules in between: none is complete, so their frames say little.

    A function that alternates with others does not count: its pieces are separate calls.
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
    """Return the path of every atom; a leaf with an atom of its own has the path of the operator before it.

    What was cut off, or comes in, stands outside of a layer of one operator that took it: it was made before.
    """
    paths = inferred_paths(folded) if modules else None
    if paths is None:
        paths = _recorded_paths(folded, modules, functions)
    hanging = [hangs(folded.original, node) for node in folded.heads]
    operators = [path for path, belongs in zip(paths, hanging, strict=True) if not belongs]
    runs = [len(list(run)) for _, run in groupby(operators)]
    alone = [length == 1 for length in runs for _ in range(length)]
    latest = -1
    for atom, node in enumerate(folded.heads):
        if not hanging[atom]:
            latest += 1
        elif latest >= 0:
            path = operators[latest]
            outside = alone[latest] and folded.original.kind[node] in ("ghost", INPUT)
            paths[atom] = path.rpartition("/")[0] if outside else path
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
    """Remove scopes; their content falls to the scope around them. Numbers change, their order does not."""
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
    """Merge two scopes with equal content: ``model`` around nothing but ``layers``, a block of one scope."""
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
    """Add the parent's name to scopes that are named by a bare number: ``layers.11``, ``features.1–2``."""
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
