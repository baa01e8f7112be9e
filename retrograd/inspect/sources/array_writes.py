"""Finds the lines of a program that write to a NumPy array which shares its memory with a tensor.

NumPy reports no writes, so the source is read: arrays passed to ``from_numpy`` and the like or returned by
``.numpy()``, and the statements that write to them.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from ..program.frames import source_line
from ..program.places import SourceLine
from ..program.stacks import stack_of
from ..program.syntax import parsed
from ..program.texts import lines_of
from ..recording.events import Event, called

MOST = 100
"""Tensors of one recording that are checked."""
LARGEST = 1 << 24
"""Bytes of the largest tensor that is checked."""
MOST_BYTES = 1 << 26
"""Bytes that are checked, all tensors of a recording together."""

SHARING = frozenset({"from_numpy", "as_tensor", "asarray", "from_dlpack", "frombuffer"})
"""Functions whose results share memory with their arguments."""
_FILLING = frozenset({"fill", "sort", "partition", "put", "setfield", "itemset"})
"""Methods of arrays that write into them."""
_WRITING = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "at"})
"""Functions that write into their first argument."""


def digest(array: Any) -> int:
    """Return a checksum of an array, to detect changes."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data)


def write_event(
    number: int, name: str, frame: FrameType | None, version: int, handed_out: SourceLine | None = None
) -> Event:
    """Return the event of a write by NumPy to a tensor, noticed while the program is at ``frame``.

    If the file has no line that writes, the event has the line that ``handed_out`` the memory.
    """
    line = (None if frame is None else array_write(frame.f_code.co_filename, name)) or handed_out
    return Event("inplace", "numpy", line, _written_there(number, (version, version), "numpy") | {"grad": True})


def unobserved_write(
    name: str, number: int, versions: tuple[int, int], through: str, frame: FrameType | None, *, grad: bool
) -> Event:
    """Return the event of a write by a method that no engine reports as an operator."""
    data = _written_there(number, versions, through) | {"stack": stack_of(frame), "grad": grad}
    return called("inplace", name, source_line(frame), data)


def _written_there(number: int, versions: tuple[int, int], through: str) -> dict[str, Any]:
    data: dict[str, Any] = {"inputs": [number], "names": [""], "outputs": [number], "output_names": [""]}
    return data | {"target": number, "version": list(versions), "through": through}


def array_write(file: str, tensor: str = "") -> SourceLine | None:
    """Return the first line that writes into an array shared with a tensor, preferably with the tensor's name.

    Else a line that writes into what the function which returned the array returns: ``self.obs[0] = x`` for
    ``obs = env.step(a)``; else the line that shares the memory.
    """
    tree = parsed("".join(lines_of(file)))
    if tree is None:
        return None
    shared: dict[str, str] = {}
    sharing: set[int] = set()
    for array, name, line in _shared(tree):
        shared[array] = shared.get(array) or name
        sharing.add(line)
    writes = list(_writes(tree))
    found = [one for one in writes if one[0] in shared]
    best = [one for one in found if tensor and shared[one[0]] == tensor] or found
    if not best:
        returned = _returned(tree, shared)
        best = [one for one in writes if one[0] in returned]
    if not best and len(sharing) == 1:
        best = [("", sharing.pop(), "")]
    return SourceLine(file, best[0][1], best[0][2]) if best else None


_Write = tuple[str, int, str]
"""Name of the written array, line and function."""


def _returned(tree: ast.AST, shared: Mapping[str, str]) -> set[str]:
    """Return the expressions returned by the file's functions whose results are shared arrays: ``self.obs``."""
    given: dict[str, set[str]] = {}
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            back = (node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value)
            given.setdefault(function.name, set()).update(part for value in back for part in _parts(value))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            named = getattr(called, "attr", getattr(called, "id", ""))
            if any(part in shared for target in node.targets for part in _parts(target)):
                found |= given.get(named, set())
    return found


def _parts(value: ast.expr) -> list[str]:
    """Return the source text of a value, or of each element of a tuple."""
    return [ast.unparse(one) for one in (value.elts if isinstance(value, ast.Tuple) else [value])]


def _shared(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield (array, tensor, line) for arrays that share memory with a tensor, each as the program spells it."""
    for node in ast.walk(tree):
        target = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
        inside = ast.walk(node) if target else iter([node])
        for call in inside:
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr == "numpy":
                given = ast.unparse(call.func.value).partition(".detach")[0]
                yield target, given, call.lineno
                yield ast.unparse(call), given, call.lineno  # written into on the spot
            elif call.func.attr in SHARING and call.args:
                given = ast.unparse(call.args[0])
                yield given.partition("[")[0], target, call.lineno
                yield target, given, call.lineno


def _writes(tree: ast.AST) -> Iterator[_Write]:
    """Yield (array, line, function) for each statement that writes into an array."""
    todo: list[tuple[ast.AST, str]] = [(tree, "<module>")]
    while todo:
        node, function = todo.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        name = _written(node)
        if name:
            yield name, getattr(node, "lineno", 0), function
        todo[:0] = [(child, function) for child in ast.iter_child_nodes(node)]


def _written(node: ast.AST) -> str:
    """Return the array that one node of the syntax writes into, or nothing."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=array)]):
            return ast.unparse(array)
        case ast.AugAssign(target=target):
            return ast.unparse(target.value if isinstance(target, ast.Subscript) else target)
        case ast.Call(func=ast.Attribute(value=array, attr=method)) if method in _FILLING:
            return ast.unparse(array)
        case ast.Call(func=ast.Attribute(attr=function), args=[array, *_]) if function in _WRITING:
            return ast.unparse(array)
        case ast.Call(keywords=[*_, ast.keyword(arg="out", value=array)]):
            return ast.unparse(array)
    return ""
