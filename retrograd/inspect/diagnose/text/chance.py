"""Numbers that a statement draws from a generator which no engine knows: of Python or NumPy, or one of its own."""

from __future__ import annotations

import ast

from ...random_functions import FROM_ANY


def drawn_by(tree: ast.stmt) -> str:
    """Return the call by which a statement draws a number of its own, ``random.random()``, or nothing."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and FROM_ANY.search(f"{ast.unparse(part.func)}("):
            return ast.unparse(part)
    return ""
