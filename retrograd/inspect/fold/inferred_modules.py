"""Module paths of a graph whose construction was not recorded, inferred from the dotted names of its parameters.

``walk(loss, model)`` looks at a graph after the fact: no module was seen to run, so no node has a scope.  But
``layers.0.norm1.weight`` says where its operator stands, and operators without parameters follow others: they ran
between two operators whose modules are known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .folded import Folded

_PARAMETER = re.compile(r"\w+(\.\w+)+", re.ASCII)

Path = tuple[str, ...]
"""The parts of a module's path, outermost first; empty for the outermost module itself."""


def inferred_paths(folded: Folded) -> list[str] | None:
    """Return the module path of every atom, or None if scopes or source lines are known or no parameter tells.

    An operator with parameters stands in the module that holds them.  One without stands in the module around that
    of the operator that ran before it, or deeper if the next operator with parameters is in there as well: the ReLU
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
                before = (*path, "")  # what runs next without parameters stands beside it
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
    """Return the path up to its last number: the innermost of several alike."""
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
    """Return the parts that two paths begin with alike."""
    return first[: common_length(first, second)]


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many parts two paths begin with alike."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length
