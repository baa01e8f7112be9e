"""Expressions as they stand before a method."""

from __future__ import annotations

import ast

from ....program.syntax import parsed_expression


def in_brackets(name: str) -> str:
    """Return an expression with brackets around it, if it needs them before a method."""
    computes = isinstance(parsed_expression(name), ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp)
    return f"({name})" if computes else name
