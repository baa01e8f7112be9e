"""Finds expressions of a program that evaluate to the number of processes of its job, traced to their origin."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .syntax import parsed
from .texts import lines_of

_ASKS = frozenset({"get_world_size"})
_COUNT_VARIABLES = frozenset({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"})
"""Environment variables that hold the number of processes."""
_CONVERSIONS = frozenset({"int", "float"})
_DEPTH = 5


class _Text(NamedTuple):
    """One file of a program: its tree, and the nodes in it that bind names or call functions."""

    file: str
    nodes: tuple[ast.AST, ...]


def counts_processes(expression: ast.expr, file: str) -> bool:
    """Whether an expression in a file evaluates to the number of processes, by its source text."""
    text = _text(file)
    return text is not None and _counts(expression, text, _DEPTH)


@lru_cache(maxsize=32)
def _text(file: str) -> _Text | None:
    tree = parsed("".join(lines_of(file)))
    return None if tree is None else _Text(file, tuple(ast.walk(tree)))


def _counts(node: ast.AST | None, text: _Text, depth: int) -> bool:
    """Whether one expression does, following names."""
    if depth == 0:
        return False
    match node:
        case ast.Call(func=function, args=args):
            name = _last_name(function)
            if name in _ASKS or any(isinstance(one, ast.Constant) and one.value in _COUNT_VARIABLES for one in args):
                return True
            if name in _CONVERSIONS:
                return any(_counts(one, text, depth - 1) for one in args)
            return any(_counts(value, where, depth - 1) for where, value in _returned(name, text))
        case ast.Subscript(slice=ast.Constant(value=key)) if key in _COUNT_VARIABLES:
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return any(_binds_count(binding, name, text, depth) for binding in text.nodes)
        case ast.IfExp(body=one, orelse=other):
            return _counts(one, text, depth - 1) or _counts(other, text, depth - 1)
    return False


def _last_name(node: ast.AST) -> str:
    """Return the final name or attribute of an expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _binds_count(node: ast.AST, name: str, text: _Text, depth: int) -> bool:
    """Whether a statement assigns the number of processes to a name, or to an attribute with that name."""
    match node:
        case ast.Assign(targets=[target], value=value) if isinstance(target, ast.Tuple):
            places = [place for place, one in enumerate(target.elts) if _last_name(one) == name]
            return any(_counts_entry(value, place, text, depth) for place in places)
        case ast.Assign(targets=targets, value=value):
            return any(_last_name(one) == name for one in targets) and _counts(value, text, depth - 1)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return _last_name(target) == name and _counts(value, text, depth - 1)
        case ast.FunctionDef(name=function, args=arguments):
            return any(_counts(given, text, depth - 1) for given in _given(function, arguments, name, text))
    return False


def _counts_entry(value: ast.expr, place: int, text: _Text, depth: int) -> bool:
    """Whether one entry of a tuple, or of a function's result, is the number of processes."""
    if isinstance(value, ast.Tuple):
        return place < len(value.elts) and _counts(value.elts[place], text, depth - 1)
    if not isinstance(value, ast.Call):
        return False
    returned = _returned(_last_name(value.func), text)
    return any(_counts_entry(one, place, where, depth - 1) for where, one in returned if isinstance(one, ast.Tuple))


def _returned(function: str, text: _Text) -> Iterator[tuple[_Text, ast.expr | None]]:
    """Yield the values that a function of the program returns, each with the file that defines the function."""
    if not function:
        return
    beside = (_text(file) for file in _imported_from(function, text))
    for where in (text, *(one for one in beside if one is not None)):
        for node in where.nodes:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                yield from ((where, one.value) for one in ast.walk(node) if isinstance(one, ast.Return))


def _imported_from(name: str, text: _Text) -> Iterator[str]:
    """Yield the files beside a file from which it imports a name."""
    for node in text.nodes:
        if isinstance(node, ast.ImportFrom) and node.module and any(one.name == name for one in node.names):
            yield os.path.join(os.path.dirname(text.file), *node.module.split(".")) + ".py"


def _given(function: str, arguments: ast.arguments, name: str, text: _Text) -> Iterator[ast.expr]:
    """Yield the arguments that calls in the file pass for a parameter of a function."""
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if name not in names:
        return
    place = names.index(name)
    for node in text.nodes:
        if isinstance(node, ast.Call) and _last_name(node.func) == function:
            yield from node.args[place : place + 1]
            yield from (word.value for word in node.keywords if word.arg == name)
