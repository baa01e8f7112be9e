"""The syntax trees of source texts, on any thread.

Until Python 3.11.8 and 3.12.2 the interpreter counts the depth of all trees that are being built in one place: two
threads that parse at once may both get ``SystemError: AST constructor recursion depth mismatch`` (CPython issue
106905).  So only one of ours parses at a time, and again where the program's own threads came in between.

What Python warns of in a text, ``"\\d"`` say, it warned of when the program was compiled, and must not say twice.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ...locks import reentrant_lock

_lock = reentrant_lock()
"""One that a handler of signals may take while its thread has it."""
_ATTEMPTS = 5
_NAME = "<read by retrograd>"
"""What the texts are called while they are parsed."""
_PASS_OVER = ("ignore", None, Warning, re.compile(re.escape(_NAME)), 0)
"""A filter of warnings, of those in our texts only."""


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a program, None for a text that is none."""
    tree = _tree(text, "exec")
    return tree if isinstance(tree, ast.Module) else None


def parsed_expression(text: str) -> ast.expr | None:
    """Return the tree of an expression, None for a text that is none."""
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
    """Pass over what Python warns of in our texts.

    ``warnings.catch_warnings`` would change the filters of all threads, and make the program's warnings that are
    shown once come again.
    """
    filters = warnings.filters
    filters.insert(0, _PASS_OVER)  # type: ignore[attr-defined]  # a list, which typeshed does not promise
    try:
        yield
    finally:
        filters.remove(_PASS_OVER)  # type: ignore[attr-defined]
