"""Lines that demand that two results are equal, as against lines that only look at how far they are apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from .spelling import statement

_EQUAL = frozenset({"equal", "allclose", "isclose", "array_equal", "eq"})
"""Functions that tell whether two values are equal."""
_DEMAND = re.compile(r"assert_?(close|(array_)?equal|allclose|(array_)?almost_?equal)", re.IGNORECASE)
"""Functions that fail where two values are not equal."""
_SAME = re.compile(r"\b(the )?(same|equal|identical|reproducible|deterministic)\b(?!.*\b(not|no|differ\w*)\b)", re.I)
"""What a program prints of results that it wants to see equal."""
_FACTS = re.compile(r"\.(shape|dtype|device|ndim)$|^(len|type)\(|^[-\d.]+$|^(['\"]).*\3$")
"""Sides of a comparison that are no results."""


def demands_equality(lines: Mapping[int, str]) -> bool:
    """Whether one of the numbered lines of a file fails, or says what was hoped for, unless two results are equal."""
    return any(_demands(statement(text), lines.get(number + 1, "")) for number, text in lines.items())


def _demands(node: ast.stmt | None, following: str) -> bool:
    """Whether a statement demands equality; of a condition, if the line after it raises."""
    if isinstance(node, ast.Assert):
        return _true_if_equal(node.test) is True
    if isinstance(node, ast.If):
        return following.lstrip().startswith("raise") and _true_if_equal(node.test) is False
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = _called(node.value)
    if called != "print":
        return bool(_DEMAND.fullmatch(called))
    words = " ".join(
        str(part.value)
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return bool(_SAME.search(words)) and _first_known(node.value.args) is True


def _called(call: ast.Call) -> str:
    """Return the last name of what is called: ``equal`` of ``torch.equal(a, b)``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _true_if_equal(test: ast.expr) -> bool | None:
    """Return whether an expression is true of equal results, or of differing ones; None if it compares none."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _true_if_equal(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare):
        return _compared(test)
    if isinstance(test, ast.Call):
        if _called(test) in _EQUAL:
            return True
        return _first_known([*test.args, *([test.func.value] if isinstance(test.func, ast.Attribute) else [])])
    if isinstance(test, ast.GeneratorExp):
        return _true_if_equal(test.elt)
    if isinstance(test, ast.JoinedStr):
        return _first_known(part.value for part in test.values if isinstance(part, ast.FormattedValue))
    return _first_known(test.values) if isinstance(test, ast.BoolOp) else None


def _first_known(tests: Iterable[ast.expr]) -> bool | None:
    """Return the first answer among several expressions."""
    return next((known for test in tests if (known := _true_if_equal(test)) is not None), None)


def _compared(test: ast.Compare) -> bool | None:
    """Return whether a comparison holds of equal results: ``a == b``, or a distance below some limit."""
    operator, sides = test.ops[0], [ast.unparse(side) for side in (test.left, test.comparators[0])]
    distance = any(re.search(r"\b(abs|norm|dist)\(", side) for side in sides)
    if not distance and any(_FACTS.search(side) for side in sides):
        return None
    if isinstance(operator, ast.Eq) or (distance and isinstance(operator, ast.Lt | ast.LtE)):
        return True
    return False if isinstance(operator, ast.NotEq) or (distance and isinstance(operator, ast.Gt | ast.GtE)) else None
