"""Where in the program an exception was raised: the expression, and the objects that it names there.

No user code runs: names are looked up in the frame, attributes in an object's own dictionaries, entries in plain lists.
"""

from __future__ import annotations

import ast
import dis
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from .frames import is_users, read_locals
from .modules import attributes_of
from .spelling import UNKNOWN, Spelling, spelling_in
from .syntax import parsed_expression

_ENTRIES = 20
"""Entries of a list or dictionary that count as operands."""
_OWN_RAISES = frozenset({"RAISE_VARARGS", "LOAD_ASSERTION_ERROR", "RERAISE"})


@dataclass(frozen=True, slots=True)
class Failure:
    """The innermost user frame of a traceback."""

    entry: TracebackType | None = None
    spelled: Spelling = UNKNOWN
    raised_in: str = ""
    """Module of the library whose Python code raised; empty where compiled code did, or the program itself."""
    by_program: bool = False
    """The program's own ``raise`` or ``assert``."""
    operands: dict[str, Any] = field(default_factory=dict)
    """Text of an operand -> the object that it names."""


def failure_of(error: BaseException) -> Failure:
    """Return where an exception left the program's own code."""
    innermost, last = None, error.__traceback__
    entry = error.__traceback__
    while entry is not None:
        if is_users(entry.tb_frame.f_code):
            innermost = entry
        last, entry = entry, entry.tb_next
    if innermost is None or last is None:
        return Failure()
    code, instruction = innermost.tb_frame.f_code, innermost.tb_lasti
    spelled = spelling_in(code, instruction)
    module = "" if last is innermost else str(last.tb_frame.f_globals.get("__name__", ""))
    own = last is innermost and _raises(innermost)
    return Failure(innermost, spelled, module, own, _objects(spelled, innermost))


def _raises(entry: TracebackType) -> bool:
    """Whether the instruction that a frame stands at is a ``raise``."""
    place = entry.tb_lasti
    return any(one.offset == place and one.opname in _OWN_RAISES for one in dis.get_instructions(entry.tb_frame.f_code))


def _objects(spelled: Spelling, entry: TracebackType) -> dict[str, Any]:
    """Return what the operands of an expression are called and are, receiver first; entries of lists one by one."""
    frame = entry.tb_frame
    variables = {**frame.f_globals, **read_locals(frame)}
    parts = [text for texts in spelled.parts.values() for text in texts]
    found: dict[str, Any] = {}
    for text in (spelled.receiver, *spelled.operands, *parts, *spelled.keywords.values()):
        node = parsed_expression(text) if text else None
        for one in _named(node):
            _enter(found, ast.unparse(one), _value(one, variables))
    return found


def _named(node: ast.AST | None) -> list[ast.AST]:
    """Return the largest parts of an expression that are names, attributes of names, or entries of them."""
    found: list[ast.AST] = []
    waiting = [] if node is None else [node]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)):
            found.append(one)
        waiting += [] if isinstance(one, ast.Name) else list(ast.iter_child_nodes(one))
    return found


def _value(node: ast.AST, variables: dict[str, Any]) -> Any:
    """Return what a name, an attribute or an entry is, as far as it can be seen without running code."""
    match node:
        case ast.Name():
            return variables.get(node.id)
        case ast.Attribute():
            return _attribute(_value(node.value, variables), node.attr)
        case ast.Subscript(slice=ast.Constant(value=key)):
            held = _value(node.value, variables)
            if type(held) in (list, tuple) and type(key) is int and -len(held) <= key < len(held):
                return held[key]
            return held.get(key) if type(held) is dict and type(key) in (str, int) else None
    return None


def _attribute(holder: Any, name: str) -> Any:
    """Return an attribute that an object holds itself, or a module among its parameters, buffers and children."""
    own = attributes_of(holder)
    tables = [own, *(own[key] for key in ("_parameters", "_buffers", "_modules") if type(own.get(key)) is dict)]
    return next((table[name] for table in tables if name in table), None)


def _enter(found: dict[str, Any], text: str, value: Any) -> None:
    """Enter an object, or the first ones that a list or dictionary holds."""
    if type(value) in (list, tuple):
        found.update({f"{text}[{place}]": one for place, one in enumerate(value[:_ENTRIES])})
    elif type(value) is dict:
        found.update({f"{text}[{key!r}]": value[key] for key in list(value)[:_ENTRIES] if type(key) in (str, int)})
    elif value is not None:
        found[text] = value
