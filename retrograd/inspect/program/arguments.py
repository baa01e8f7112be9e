"""Finds whether a line calls an argument of its function, chosen by the caller, and which class contains the line."""

from __future__ import annotations

import ast
import functools

from .syntax import parsed
from .texts import lines_of

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
