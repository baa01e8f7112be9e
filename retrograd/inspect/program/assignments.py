"""Finds where a program assigns a name or passes an argument."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator

from .places import SourceLine
from .syntax import parsed
from .texts import lines_of

# Finds whether a line calls an argument of its function, chosen by the caller, and which class contains the line.

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def calls_argument(file: str, line: int) -> bool:
    """Whether a line calls a parameter of the function that contains it."""
    text = "".join(lines_of(file))
    called = [
        node.func.id
        for node in ast.walk(_tree(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.lineno == line
    ]
    around = [one for one in _functions(text) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    inner = max(around, key=lambda one: one.lineno, default=None)
    return inner is not None and bool(_parameters(inner).intersection(called))


def in_class_with(method: str, file: str, line: int) -> bool:
    """Whether a line is inside a class that defines a method of this name."""
    return any(
        isinstance(node, ast.ClassDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and any(isinstance(one, ast.FunctionDef) and one.name == method for one in node.body)
        for node in ast.walk(_tree("".join(lines_of(file))))
    )


@functools.lru_cache(maxsize=8)
def _tree(text: str) -> ast.AST:
    return parsed(text) or ast.Module([], [])


def _functions(text: str) -> list[_Function]:
    return [node for node in ast.walk(_tree(text)) if isinstance(node, _Function)]


def _parameters(function: _Function) -> set[str]:
    """Return the names of a function's parameters."""
    given = function.args
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


# Finds where a program assigns an attribute, or a dictionary entry, of a given name.


def line_assigning(attribute: str, files: Iterable[str]) -> SourceLine | None:
    """Return the one line of these files that sets an attribute with this name; None for no such line or several."""
    found = [line for file in files for line in _lines_assigning(attribute, file)]
    return found[0] if len(found) == 1 else None


def line_setting_entry(key: str, files: Iterable[str]) -> SourceLine | None:
    """Return the one line of these files that sets an entry of a dictionary; None for no such line or several.

    ``d[key] = value``, ``d[key] *= value``, ``d.update(key=value)``, ``d.update({key: value})``.
    """
    found = {line for file in files for line, node in _statements(key, file) if _sets_entry(node, key)}
    return found.pop() if len(found) == 1 else None


def _sets_entry(node: ast.AST, key: str) -> bool:
    """Whether a syntax node sets the entry with this key."""
    match node:
        case ast.Assign(targets=targets):
            return any(_is_entry(target, key) for target in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _is_entry(target, key)
        case ast.Call(func=ast.Attribute(attr="update"), args=args, keywords=keywords):
            written = [one for given in args if isinstance(given, ast.Dict) for one in given.keys]
            return any(word.arg == key for word in keywords) or any(_is_text(one, key) for one in written)
    return False


def _is_entry(target: ast.expr, key: str) -> bool:
    return isinstance(target, ast.Subscript) and _is_text(target.slice, key)


def _is_text(node: ast.expr | None, key: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == key


def _lines_assigning(attribute: str, file: str) -> Iterator[SourceLine]:
    """Yield the assignments of one file, each with the function that contains it."""
    for line, node in _statements(attribute, file):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Attribute) and target.attr == attribute for target in targets):
                yield line


def _statements(word: str, file: str) -> Iterator[tuple[SourceLine, ast.AST]]:
    """Yield all statements and calls of a file in which a word occurs, each with its line and function."""
    text = "".join(lines_of(file))
    tree = parsed(text) if word in text else None
    waiting: list[tuple[ast.AST, str]] = [] if tree is None else [(tree, "<module>")]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.stmt | ast.Call):
            yield SourceLine(file, node.lineno, function), node
        waiting += [(child, function) for child in ast.iter_child_nodes(node)]
