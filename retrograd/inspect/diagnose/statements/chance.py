"""Numbers that a statement draws from a generator which no engine knows: Python's ``random``, NumPy's, the clock."""

from __future__ import annotations

import ast

_DRAWING = frozenset({
    "random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform", "gauss", "normal", "rand",
    "randn", "integers", "getrandbits", "betavariate", "standard_normal", "permutation", "binomial", "time",
    "perf_counter", "monotonic", "time_ns", "urandom", "token_bytes", "uuid4",
})  # fmt: skip
_ENGINES = frozenset({"torch", "rg", "retrograd"})


def drawn_by(tree: ast.stmt) -> str:
    """Return the call by which a statement draws a number of its own, ``random.random()``, or nothing."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and _draws(part.func):
            return ast.unparse(part)
    return ""


def _draws(function: ast.expr) -> bool:
    """Whether a function draws numbers: one of a module or generator, none of an engine or of a tensor."""
    if not isinstance(function, ast.Attribute) or function.attr not in _DRAWING:
        return False
    words = ast.unparse(function.value).split(".")
    if words[0] in _ENGINES:
        return False
    return any(word.lower().strip("_") in _OWNERS or word.lower().endswith("rng") for word in words)


_OWNERS = frozenset({"random", "np", "numpy", "rng", "generator", "time", "os", "secrets", "uuid"})
"""What those go by that draw; whose method a name alone is cannot be told from the line."""
