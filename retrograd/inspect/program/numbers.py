"""Whether an operand in a line is a plain number: ``self.momentum`` and ``1 - decay``, where they are not tensors."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

from .frames import read_locals
from .modules import attributes_of
from .syntax import parsed_expression

_NUMBERS = frozenset({int, float, bool, complex})
_UNKNOWN = object()


def is_number(frame: FrameType | None, text: str) -> bool:
    """Whether a text is made of nothing but numbers, by the values that its names have in a frame now.

    No code of the program is run: attributes are looked for in objects themselves, and a call is no number.
    """
    node = parsed_expression(text)
    if node is None or frame is None:
        return False
    return _is_number(node, read_locals(frame), frame.f_globals)


def _is_number(node: ast.expr, local: dict[str, Any], shared: dict[str, Any]) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) in _NUMBERS
        case ast.UnaryOp(operand=operand):
            return _is_number(operand, local, shared)
        case ast.BinOp(left=left, right=right):
            return _is_number(left, local, shared) and _is_number(right, local, shared)
    return type(_value_of(node, local, shared)) in _NUMBERS


def _value_of(node: ast.expr, local: dict[str, Any], shared: dict[str, Any]) -> Any:
    """Return the value of a name, or of an attribute of one."""
    match node:
        case ast.Name(id=name):
            return local.get(name, shared.get(name, _UNKNOWN))
        case ast.Attribute(value=holder, attr=name):
            return attributes_of(_value_of(holder, local, shared)).get(name, _UNKNOWN)
    return _UNKNOWN
