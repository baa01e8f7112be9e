"""Finds the few nodes whose shapes and dtypes determine those of all others in a graph of known outline.

Reading ``_input_metadata`` takes several times as long as a saved number.  So it is only read where nothing else
determines it: most shapes follow from those of the operands, or of the node behind, and what a node saved of its
arguments or of its operand's sizes.  All that follows here does so with certainty; no shape is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...base import Node

_SIZES = "_saved_self_sym_sizes"
_DIMS = ("_saved_dim0", "_saved_dim1")


class _Rule(NamedTuple):
    """How the result of an operator is determined."""

    given: tuple[str, ...] | None = None
    """Saved attributes that determine the shape together with the operands' shapes; None if they do not suffice."""
    back: bool = False
    """Whether the shape of the result also determines that of the operand."""
    saved_operands: tuple[tuple[int, str], ...] = ()
    """Operands whose shape the node saved: position and attribute."""
    dtype: str = ""
    """"all": the operands' dtypes determine the result's; "same": it is that of each operand."""


_POINTWISE = _Rule((), True, dtype="same")
_UNARY = (
    *("Neg", "Exp", "Expm1", "Log", "Log1P", "Sqrt", "Rsqrt", "Sin", "Cos", "Erf"),
    *("Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "LogSigmoid", "Softplus", "Elu", "LeakyRelu", "Clone", "T"),
)
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "NativeLayerNorm"), _Rule((), dtype="all")),
    **dict.fromkeys(_UNARY, _POINTWISE),
    **dict.fromkeys(("Softmax", "SafeSoftmax", "LogSoftmax"), _Rule((), True)),
    "Addmm": _Rule((), saved_operands=((1, "_saved_mat1_sym_sizes"),), dtype="same"),
    "Mm": _Rule((), saved_operands=((0, _SIZES),), dtype="same"),
    "Bmm": _Rule((), dtype="same"),
    "Transpose": _Rule(_DIMS, True, dtype="same"),
    "Permute": _Rule(("_saved_dims",), True, dtype="same"),
    "Unsqueeze": _Rule(("_saved_dim",), True, dtype="same"),
    "Select": _Rule(("_saved_dim",), saved_operands=((0, _SIZES),), dtype="same"),
    **dict.fromkeys(
        ("View", "UnsafeView", "ReshapeAlias", "Expand"), _Rule(saved_operands=((0, _SIZES),), dtype="same")
    ),
}
_BY_NODE = {f"{name}Backward0": rule for name, rule in _RULES.items()}
_BY_NODE["SqueezeBackward1"] = _RULES["Select"]  # squeeze(dim)
_BY_NODE["MulBackward1"] = _BY_NODE["PowBackward0"] = _Rule((), True)  # by a number
_UNKNOWN = _Rule()

_SHAPE, _DTYPE = 0, 1


class Questions(NamedTuple):
    """What must be compared with an earlier graph."""

    asked: list[int]
    """Nodes whose shape and dtype must be read."""
    saved: list[tuple[int, str, Any]]
    """Nodes, attributes and the values that those must have."""


def questions(
    order: list[Node], ops: list[str], edges: Iterator[tuple[int, int, int, int]], leaves: Sequence[int]
) -> Questions:
    """Return what determines all nodes, given the leaves; ``edges``: start, end (-1 for none), position, number."""
    deduction = _Deduction(order, ops, edges)
    for row in leaves:
        deduction.settle(row)
    deduction.read_saved()
    asked: list[int] = []
    for what in (_SHAPE, _DTYPE):  # which are read together
        for row in reversed(range(len(order))):  # operands mostly come behind their users
            if not deduction.is_known(what, row):
                asked.append(row)
                deduction.settle(row)
    return Questions(asked, list(deduction.saved))


class _Deduction:
    """Finds out what follows from known nodes."""

    def __init__(self, order: list[Node], ops: list[str], edges: Iterator[tuple[int, int, int, int]]) -> None:
        self._order = order
        self._rules = [_BY_NODE.get(op, _UNKNOWN) for op in ops]
        self._operands: list[list[int]] = [[] for _ in ops]
        """For each row where its edges lead to, -1 where that is no first result of a node in the graph."""
        self._users: list[list[int]] = [[] for _ in ops]
        for start, end, _, number in edges:
            self._operands[start].append(-1 if number else end)
            if end >= 0 and not number:
                self._users[end].append(start)
        self._known: tuple[set[int], set[int]] = (set(), set())
        """Nodes whose shapes, and whose dtypes, are known."""
        self.saved: dict[tuple[int, str, Any], None] = {}
        """The attributes that this depends on."""

    def is_known(self, what: int, row: int) -> bool:
        """Whether shape or dtype of a row is known."""
        return row in self._known[what]

    def settle(self, row: int) -> None:
        """Add shape and dtype of a node, and everything that follows, to what is known."""
        self._follow([(_SHAPE, row), (_DTYPE, row)])

    def read_saved(self) -> None:
        """Use sizes of operands that nodes saved, where they are not known otherwise."""
        for row in reversed(range(len(self._order))):
            for position, name in self._rules[row].saved_operands:
                operand = self._operands[row][position]
                if operand >= 0 and operand not in self._known[_SHAPE] and self._note(row, (name,)):
                    self._follow([(_SHAPE, operand)])

    def _follow(self, waiting: list[tuple[int, int]]) -> None:
        """Add facts, and everything that follows from them, to what is known."""
        while waiting:
            what, row = waiting.pop()
            if row not in self._known[what]:
                self._known[what].add(row)
                waiting += [(what, other) for other in self._implied(what, row)]

    def _implied(self, what: int, row: int) -> Iterator[int]:
        """Yield nodes for which the same is now known."""
        known = self._known[what]
        for user in self._users[row]:
            if user not in known and self._is_result_of_known(what, user):
                yield user
        rule = self._rules[row]
        if what == _DTYPE and rule.dtype == "same":
            yield from (operand for operand in self._operands[row] if operand >= 0)
        elif what == _SHAPE and rule.back and rule.given is not None:
            (operand,) = self._operands[row]
            if operand >= 0 and operand not in known and self._note(row, rule.given):
                yield operand

    def _is_result_of_known(self, what: int, row: int) -> bool:
        """Whether a node's result is determined by what is known of its operands."""
        rule, known, operands = self._rules[row], self._known[what], self._operands[row]
        if what == _DTYPE and rule.dtype == "same":
            return True  # of the one operand through which we came here
        if not all(operand in known for operand in operands):
            return False
        return bool(rule.dtype) if what == _DTYPE else rule.given is not None and self._note(row, rule.given)

    def _note(self, row: int, names: tuple[str, ...]) -> bool:
        """Note what a node saved for comparison; False if it is not usable."""
        values = [getattr(self._order[row], name, None) for name in names]
        if None in values:
            return False
        self.saved.update(dict.fromkeys((row, name, value) for name, value in zip(names, values, strict=True)))
        return True
