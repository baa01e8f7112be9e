"""Generators in statements, which can be read only once: where one is made, and where one is read."""

from __future__ import annotations

import ast

from .spelling import called

_MAKING = frozenset({"parameters", "named_parameters", "filter", "map", "zip", "iter", "chain", "from_iterable"})
_READING = frozenset({
    "all", "any", "clip_grad_norm_", "clip_grad_value_", "deque", "dict", "enumerate", "extend", "filter", "frozenset",
    "join", "len", "list", "map", "max", "min", "parameters_to_vector", "set", "sorted", "sum", "tuple", "zip",
})  # fmt: skip
"""Functions that read all of their argument, or pass it to a loop that does."""


def is_generator(value: ast.expr | None) -> bool:
    """Whether an expression's value can be read only once."""
    return isinstance(value, ast.GeneratorExp) or (isinstance(value, ast.Call) and called(value) in _MAKING)


def value_given(tree: ast.stmt, name: str) -> ast.expr | None:
    """Return the value that a statement assigns to a name, with ``=`` or ``:=``, or nothing."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            if name in map(ast.unparse, targets):
                return part.value
    return None


def mentions(tree: ast.AST, name: str) -> bool:
    """Whether an expression or statement uses a name."""
    return any(isinstance(part, ast.Name | ast.Attribute) and ast.unparse(part) == name for part in ast.walk(tree))


def reads_to_end(tree: ast.stmt, name: str) -> bool:
    """Whether a statement loops over a name's value, or passes it to something that does, as optimizers do."""
    found = (read for part in ast.walk(tree) for read in _read_by(part))
    return any(ast.unparse(read.target if isinstance(read, ast.NamedExpr) else read) == name for read in found)


def _read_by(part: ast.AST) -> list[ast.expr]:
    """Return what one part of a statement reads to its end."""
    match part:
        case ast.For() | ast.comprehension():
            return [part.iter]
        case ast.Starred():
            return [part.value]
        case ast.Compare() if isinstance(part.ops[-1], ast.In | ast.NotIn):
            return part.comparators[-1:]
        case ast.Call() if called(part) in _READING or called(part)[:1].isupper():
            return [*part.args, *(word.value for word in part.keywords)]
        case _:
            return []
