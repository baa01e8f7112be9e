"""Finds the source text of the operation that a frame is executing: its operands and its assignment targets."""

from __future__ import annotations

import ast
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ..bounded import BoundedDict
from .frames import is_users, read_locals
from .modules import attributes_of
from .syntax import parsed, parsed_expression
from .texts import lines_of

# Whether an operand in a line is a plain number: `self.momentum` and `1 - decay`, where they are not tensors.

_NUMBERS = frozenset({int, float, bool, complex})
_UNKNOWN = object()


def is_number(frame: FrameType | None, text: str) -> bool:
    """Whether an expression contains only numbers, by the current values of its names in a frame.

    No code of the program is run: attributes are looked up in the objects' dictionaries, and a call is not a number.
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


# Finds the source text of the operation that a frame is executing: its operands and its assignment targets.

_COMPARISONS = {ast.Gt: "gt", ast.Lt: "lt", ast.GtE: "ge", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne"}
"""Syntax of a comparison -> the operator's name."""
_LONGEST = 80
"""Longer texts of operands are truncated."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One operation as written in its line."""

    form: str = ""
    """Name of the called function, such as ``"relu"``; otherwise the syntax: ``"BinOp"``, ``"Subscript"``, …"""
    receiver: str = ""
    """The object of a method call, or a function's module: ``h`` in ``h.mean()``, ``torch`` in ``torch.log(v)``."""
    operands: tuple[str, ...] = ()
    """Texts of the operands without the receiver; ``""`` after a starred one."""
    parts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Position -> texts of the entries, for an operand written as a list or tuple."""
    keywords: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    """The names that the line assigns the result to, if it does so directly: ``h``, ``self.state``."""
    compares: str = ""
    """The operator's name for a comparison: ``"gt"`` for ``a > b``."""

    def turns(self, op: str) -> bool:
        """Whether an operator is the comparison with operands exchanged: for ``x > p`` Python may call ``p < x``."""
        return bool(self.compares) and _TURNED.get(self.compares) == op


_TURNED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
"""Comparison -> the equivalent one with its operands exchanged."""
UNKNOWN = Spelling()
_Position = tuple[int, int, int, int]

_places: BoundedDict[tuple[int, int], tuple[CodeType, Spelling]] = BoundedDict(50_000)
"""(id of a code object, instruction) -> the code object, kept so that its id stays unique, and its spelling."""
_files: dict[str, _Index] = {}


class _Index:
    """The expressions of one file by position."""

    def __init__(self, name: str) -> None:
        self.exact: dict[_Position, list[ast.AST]] = {}
        self.ends: dict[tuple[int, int], list[ast.AST]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        tree = parsed("".join(lines_of(name)))
        waiting: deque[ast.AST] = deque([] if tree is None else [tree])
        while waiting:  # level by level, so that of two at one place the outer one comes first
            node = waiting.popleft()
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                waiting.append(child)
            if isinstance(node, (ast.expr, ast.AugAssign)):
                place = (node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
                self.exact.setdefault(place, []).append(node)
                self.ends.setdefault((place[1], place[3]), []).append(node)


def spelling_at(frame: FrameType | None) -> Spelling:
    """Return the source text of the operation that a frame is executing; ``UNKNOWN`` without its source.

    It is also ``UNKNOWN`` inside a library, whose names mean nothing to the user.
    """
    if frame is None or not is_users(frame.f_code):
        return UNKNOWN
    return spelling_in(frame.f_code, frame.f_lasti)


def spelling_in(code: CodeType, instruction: int) -> Spelling:
    """Return how an instruction is spelled; ``UNKNOWN`` without its source."""
    key = (id(code), instruction)
    known = _places.get(key)
    if known is None:
        known = _places[key] = (code, _look_up(code, instruction))
    return known[1]


def forget_places() -> None:
    """Clear the caches, which hold code objects and files."""
    _places.clear()
    _files.clear()


def _index(name: str) -> _Index:
    """Return the expressions of a file."""
    index = _files.get(name)
    if index is None:
        index = _files[name] = _Index(name)
    return index


def _look_up(code: CodeType, instruction: int) -> Spelling:
    """Find the syntax of an instruction."""
    index = _index(code.co_filename)
    place = next(islice(code.co_positions(), instruction // 2, None), None)
    if place is None or None in place:
        return UNKNOWN
    line, end_line, column, end_column = place
    found = index.exact.get((line, end_line, column, end_column))  # type: ignore[arg-type]
    if found is None:  # a method call over several lines begins at its last part
        found = [
            node
            for node in index.ends.get((end_line, end_column), ())  # type: ignore[arg-type]
            if isinstance(node, ast.Call)
        ]
    return _describe(found[0], index.parents) if found else UNKNOWN


def _describe(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Spelling:
    """Describe an expression, or a statement that is itself an operation."""
    targets = _targets(node, parents)
    match node:
        case ast.Call():
            return _describe_call(node, targets)
        case ast.BinOp():
            return Spelling("BinOp", operands=_texts([node.left, node.right]), targets=targets)
        case ast.AugAssign():
            return Spelling("AugAssign", operands=_texts([node.target, node.value]), targets=(text_of(node.target),))
        case ast.Compare(left=left, comparators=[right], ops=[how]):
            name = _COMPARISONS.get(type(how), "")
            return Spelling("Compare", operands=_texts([left, right]), compares=name, targets=targets)
        case ast.UnaryOp():
            return Spelling("UnaryOp", operands=_texts([node.operand]), targets=targets)
        case ast.Subscript():
            return _describe_item(node, parents, targets)
        case ast.Attribute():
            return Spelling(node.attr, operands=_texts([node.value]), targets=targets)
        case _:
            return Spelling(type(node).__name__, operands=(text_of(node),), targets=targets)


def _describe_call(node: ast.Call, targets: tuple[str, ...]) -> Spelling:
    """Describe a call."""
    form, receiver = "", ""
    if isinstance(node.func, ast.Attribute):
        form, receiver = node.func.attr, text_of(node.func.value)
    elif isinstance(node.func, ast.Name):
        form = node.func.id
    operands: list[str] = []
    for operand in node.args:
        if isinstance(operand, ast.Starred):
            break
        operands.append(text_of(operand))
    parts = {
        place: _texts(operand.elts)
        for place, operand in enumerate(node.args)
        if isinstance(operand, (ast.List, ast.Tuple))
    }
    keywords = {word.arg: text_of(word.value) for word in node.keywords if word.arg is not None}
    return Spelling(form, receiver, tuple(operands), parts, keywords, targets)


def _describe_item(node: ast.Subscript, parents: dict[ast.AST, ast.AST], targets: tuple[str, ...]) -> Spelling:
    """Describe ``t[i]``, read or assigned to."""
    operands: list[ast.expr] = [node.value, node.slice]
    statement = parents.get(node)
    if isinstance(node.ctx, ast.Store) and isinstance(statement, ast.Assign):
        operands.append(statement.value)
    elif isinstance(node.ctx, ast.Store) and isinstance(statement, ast.AugAssign):
        operands.append(statement.target)  # t[i] += 1 puts back what it has read and changed
    return Spelling("Subscript", operands=_texts(operands), targets=targets)


def _targets(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> tuple[str, ...]:
    """Return the names that the value of an expression is assigned to at once."""
    statement = parents.get(node)
    if isinstance(statement, ast.Assign) and statement.value is node:
        target = statement.targets[0]
        return _texts(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else (text_of(target),)
    if isinstance(statement, (ast.AnnAssign, ast.NamedExpr)) and statement.value is node:
        return (text_of(statement.target),)
    if isinstance(statement, ast.Tuple):  # a, b = -x, x + y
        targets = _targets(statement, parents)
        if len(targets) == len(statement.elts):
            return (targets[next(place for place, entry in enumerate(statement.elts) if entry is node)],)
    return ()


def _texts(nodes: list[ast.expr]) -> tuple[str, ...]:
    """Return the texts of several expressions."""
    return tuple(map(text_of, nodes))


def text_of(node: ast.AST) -> str:
    """Return an expression as source text, truncated if it is very long."""
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether a text is a tensor's name: ``h``, ``self.weight``, ``fast['gate']``, but not ``h @ w`` or ``p[i]``."""
    node: ast.AST | None = parsed_expression(text)
    while True:
        match node:
            case ast.Name():
                return True
            case ast.Attribute(value=inner) | ast.Subscript(value=inner, slice=ast.Constant()):
                node = inner
            case _:
                return False
