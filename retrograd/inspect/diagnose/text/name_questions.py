"""What statements ask of the names of parameters, as ``if name.startswith("layer.1")`` does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .fragments import Fragment
from .spelling import called

_METHODS = frozenset({"startswith", "find", "count"})
_PATTERNS = frozenset({"match", "search", "fullmatch", "findall", "fnmatch", "fnmatchcase"})
_PARTS = frozenset({"split", "rsplit", "partition", "rpartition"})
_COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp)


def is_loop_over_names(tree: ast.stmt) -> bool:
    """Whether a statement goes through names and what they name."""
    return bool(_loop_variables(tree))


def ask_for_text(statements: list[Fragment]) -> bool:
    """Whether any asks for a text in a name that a longer name may hold alike; whole parts or indices are no such."""
    return any(_may_catch_more(text) for texts in _asked_by(statements) for text in texts)


def word_asked_for(statements: list[Fragment]) -> str:
    """Return the word that the first of some statements to do so asks a name for, or nothing."""
    for text in (text for texts in _asked_by(statements) for text in texts):
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value.isidentifier():
            return text.value
    return ""


def spares_by_name(statements: list[Fragment]) -> bool:
    """Whether statements, upwards from one that freezes, leave out by their names some of what it would freeze.

    By a condition that says what is not to be frozen, by one that says what is to be trained, or by giving
    ``requires_grad`` the answer.
    """
    names = {name for one in statements for name in _loop_variables(one.tree)}
    trains = any(_switches_on(part) for one in statements[1:] for part in ast.walk(one.tree))
    for number, one in enumerate(statements):
        for part in ast.walk(one.tree):
            if isinstance(part, ast.If) and names & _variables(part.test):
                if trains or any(isinstance(inner, ast.Not | ast.NotIn | ast.NotEq) for inner in ast.walk(part.test)):
                    return True
            elif number == 0 and _gives(part) is not None and names & _variables(_gives(part) or part):
                return True
    return False


def _gives(part: ast.AST) -> ast.expr | None:
    """Return what a statement or call gives ``requires_grad``, or nothing for another."""
    match part:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=value):
            return value
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[value, *_]):
            return value
        case _:
            return None


def _switches_on(part: ast.AST) -> bool:
    """Whether a statement or call switches ``requires_grad`` on."""
    given = _gives(part)
    plain = isinstance(part, ast.Call) and not part.args and not part.keywords and called(part) == "requires_grad_"
    return plain or (isinstance(given, ast.Constant) and given.value is True)


def _loop_variables(tree: ast.AST) -> set[str]:
    """Return the variables of loops that take several values each time round."""
    loops = (part for part in ast.walk(tree) if isinstance(part, ast.For | ast.comprehension))
    return {name for loop in loops if isinstance(loop.target, ast.Tuple) for name in _variables(loop.target)}


def _variables(tree: ast.AST) -> set[str]:
    """Return the variables in a tree."""
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}


@dataclass(frozen=True)
class _Known:
    """What the variables of some statements stand for."""

    names: set[str]
    """Of a loop over names, and what is computed of these; none where the loop is not known."""
    parts: set[str]
    """Names taken apart at their dots, and other collections."""

    def is_apart(self, value: ast.expr) -> bool:
        """Whether an expression gives a collection, of which ``in`` finds whole entries."""
        if isinstance(value, ast.Name):
            return value.id in self.parts
        return isinstance(value, _COLLECTIONS) or (isinstance(value, ast.Call) and called(value) in _PARTS)

    def may_be_name(self, value: ast.expr) -> bool:
        """Whether an expression may give a name, or a text that was made of one."""
        if self.is_apart(value):
            return False
        while (inner := _taken_from(value)) is not None:
            value = inner
        return isinstance(value, ast.Name) and (not self.names or value.id in self.names)


def _taken_from(value: ast.expr) -> ast.expr | None:
    """Return what an expression takes a part of, names or calls a method of: a name in ``name[5:].lower()``."""
    match value:
        case ast.Subscript(value=inner) | ast.NamedExpr(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
            return inner
        case _:
            return None


def _known(statements: list[Fragment]) -> _Known:
    """Return what the variables of some statements, upwards from the last, stand for."""
    known = _Known(set(), set())
    for one in reversed(statements):
        known.names.update(_loop_variables(one.tree))
        for part in ast.walk(one.tree):
            if isinstance(part, ast.Assign | ast.NamedExpr):
                targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                given = {name for target in targets for name in _variables(target)}
                if known.is_apart(part.value):
                    known.parts.update(given)
                elif known.names & _variables(part.value):
                    known.names.update(given)
    return known


def _asked_by(statements: list[Fragment]) -> Iterator[list[ast.expr]]:
    """Yield the texts that parts of statements ask names for; for one that is not spelled, what asks for it."""
    known = _known(statements)
    for one in statements:
        for part in ast.walk(one.tree):
            yield _asked(part, known)


def _asked(part: ast.AST, known: _Known) -> list[ast.expr]:
    """Return the texts that one part of a statement asks a name for."""
    match part:
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Tuple(elts=texts), *_]) if method in _METHODS:
            return texts
        case ast.Call(func=ast.Attribute(attr=method), args=[text, *_]) if method in _METHODS:
            return [text]
        case ast.Call() if called(part) in _PATTERNS and not _is_of_whole_part(part):
            return [part]
        case ast.Compare(ops=[ast.In()], left=left, comparators=[where]) if known.may_be_name(where):
            return [left] if known.names or isinstance(left, ast.Constant) else []
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=ast.expr())) if known.may_be_name(value):
            return [part] if lower is None or ast.unparse(lower) == "0" else []
        case _:
            return []


def _is_of_whole_part(call: ast.Call) -> bool:
    """Whether the pattern that a call of ``re`` or ``fnmatch`` spells holds the dot at which a part of a name ends."""
    texts = [text.value for text in call.args if isinstance(text, ast.Constant) and isinstance(text.value, str)]
    if called(call).startswith("fnmatch"):
        return any(text.removesuffix("*").endswith(".") for text in texts)
    return any(text.removesuffix(".*").endswith(r"\.") for text in texts)


def _may_catch_more(text: ast.expr) -> bool:
    """Whether longer names may hold a text as well: it does not end with the dot that ends a part of a name."""
    last = text.values[-1] if isinstance(text, ast.JoinedStr) and text.values else text
    return not (isinstance(last, ast.Constant) and str(last.value).endswith("."))
