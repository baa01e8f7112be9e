"""Where a custom Function is written, of either engine: its rules, what it calls its arguments, what it stores."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from types import CodeType
from typing import Any

from ..frames import is_foreign, last_return


def code_of(function: Any) -> CodeType | None:
    """Return the code of a function of Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def definition(forward: Any, backward: Any, setup_context: Any) -> dict[str, Any]:
    """Say where forward and backward are written, where backward returns, and what forward's parameters are."""
    found: dict[str, Any] = {}
    code = code_of(forward)
    rule = None if backward is None else code_of(backward)
    for key, known in (("forward_line", code), ("backward_line", rule)):
        if known is not None:
            found[key] = [known.co_filename, _definition_line(known), known.co_name]
    if rule is not None:
        found["return_line"] = last_return(rule)
    if code is not None:
        names = code.co_varnames[: code.co_argcount]
        setup = code_of(setup_context)
        found["parameters"] = list(names if setup is not None and not is_foreign(setup) else names[1:])
    return found


@functools.lru_cache(maxsize=1000)
def _tree(code: CodeType) -> tuple[ast.AST | None, int]:
    """Return the syntax of a function, and what to add to its line numbers."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(code))), code.co_firstlineno - 1
    except (OSError, SyntaxError, ValueError, TypeError):
        return None, 0


def _definition_line(code: CodeType) -> int:
    """Return the line of ``def``, below its decorators."""
    tree, shift = _tree(code)
    first = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None) if tree else None
    return code.co_firstlineno if first is None else first.lineno + shift


def stored_at(code: CodeType) -> dict[str, int]:
    """Return the line of each ``ctx.name = ...`` in a function, by name."""
    tree, shift = _tree(code)
    context = code.co_varnames[0] if code.co_argcount else "ctx"
    found: dict[str, int] = {}
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Attribute(value=ast.Name(id=holder), ctx=ast.Store()) if holder == context:
                found.setdefault(node.attr, node.lineno + shift)
    return found
