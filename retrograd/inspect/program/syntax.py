"""The syntax trees of source texts, on any thread, and the variables of their loops."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ...locks import reentrant_lock
from .texts import lines_of

# The syntax trees of source texts, on any thread.

_lock = reentrant_lock()
"""Reentrant, since a signal handler may take it while its thread holds it."""
_ATTEMPTS = 5
_NAME = "<read by retrograd>"
"""File name under which texts are parsed."""
_PASS_OVER = ("ignore", None, Warning, re.compile(re.escape(_NAME)), 0)
"""A warning filter that ignores warnings about our texts only."""


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a program, None if the text is not valid Python."""
    tree = _tree(text, "exec")
    return tree if isinstance(tree, ast.Module) else None


def parsed_expression(text: str) -> ast.expr | None:
    """Return the tree of an expression, None if the text is not one."""
    tree = _tree(text, "eval")
    return tree.body if isinstance(tree, ast.Expression) else None


def _tree(text: str, mode: Literal["exec", "eval"]) -> ast.AST | None:
    with _lock, _unwarned():
        for _ in range(_ATTEMPTS):
            try:
                return ast.parse(text, _NAME, mode)
            except SystemError:
                continue
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
    return None


@contextmanager
def _unwarned() -> Iterator[None]:
    """Ignore Python's warnings about our texts.

    ``warnings.catch_warnings`` would change the filters of all threads, and make the program's warnings that are
    shown once come again.
    """
    filters = warnings.filters
    filters.insert(0, _PASS_OVER)  # type: ignore[attr-defined]  # a list, which typeshed does not promise
    try:
        yield
    finally:
        filters.remove(_PASS_OVER)  # type: ignore[attr-defined]


# The names of variables in the loops of a file.

_INNER = ("body", "orelse", "finalbody", "handlers", "cases")
"""Attributes of statements that hold inner statements."""
_files: dict[str, tuple[list[str], frozenset[str]]] = {}
"""File -> its source, as ``lines_of`` gives it (another list when the file has changed), and the variables."""


def loop_variables(file: str) -> frozenset[str]:
    """Return the variables of a file's ``for`` loops, whose names refer to one object after the other."""
    lines = lines_of(file)
    known = _files.get(file)
    if known is None or (known[0] is not lines and known[0] != lines):
        targets = [one.target for one in _statements(lines) if isinstance(one, ast.For)]
        names = frozenset(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
        known = _files[file] = lines, names
    return known[1]


def _statements(lines: list[str]) -> Iterator[ast.AST]:
    """Yield every statement of a source, outer ones first; nothing if it is not Python."""
    tree = parsed("".join(lines))
    waiting: list[ast.AST] = [] if tree is None else [tree]
    while waiting:
        statement = waiting.pop()
        yield statement
        for inner in _INNER:
            waiting += getattr(statement, inner, ())
