"""A forward or reverse rule of a row, read as a formula of NumPy calls.

The function is called once with ``Term`` objects in place of arrays.  Each NumPy function that it applies to a term
becomes a step; what it does beyond that (looking at values, types other than "a real dtype", other libraries) makes it
opaque, and then it is called as it is.  A formula is right for real floating dtypes: there, conjugating is nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels.fused import KERNELS


class Opaque(Exception):
    """The function cannot be read as a formula."""


_SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "greater": ">", "less": "<", "greater_equal": ">=",
    "less_equal": "<=", "matmul": "@",
}  # fmt: skip


_RESHAPING = frozenset({"matmul", "matrix_product", "mT"})
"""Functions whose result has another shape than their operands."""


@dataclass
class Step:
    """One NumPy call: ``name = function(*operands)``, where operands are names or numbers."""

    function: str
    operands: tuple[Any, ...]
    name: str
    real: bool
    """Whether the result has the dtype of the operands (otherwise it is bool)."""
    whole: bool
    """Whether the result surely has the shape of the node's output, so that it can be written to."""


@dataclass
class Formula:
    """Steps in order; the value is the operand ``result`` (a name; of a step or of an argument)."""

    steps: list[Step] = field(default_factory=list)
    result: str = ""

    def lines(self, target: str) -> list[str]:
        """Python statements that leave the value in ``target``; a step's own array is overwritten at its last use."""
        last_use = {operand: i for i, step in enumerate(self.steps) for operand in step.operands}
        owned = {step.name: step for step in self.steps if step.whole and step.real}
        renamed: dict[Any, str] = {}
        lines = []
        for i, step in enumerate(self.steps):
            operands = [renamed.get(o, o) if isinstance(o, str) else _constant(o) for o in step.operands]
            for k in _updatable(step):
                mine = step.operands[k]
                if mine in owned and step.operands.count(mine) == 1 and last_use[mine] == i and mine != self.result:
                    renamed[step.name] = operands[k]
                    lines.append(_updating(step.function, operands, k))
                    break
            else:
                lines.append(f"{step.name} = {_call(step.function, operands)}")
        final = renamed.get(self.result, self.result)
        return lines if final == target else _renamed_at_end(lines, final, target)

    @property
    def functions(self) -> set[str]:
        """Names of the NumPy functions that ``lines`` uses."""
        return {step.function for step in self.steps} - {"mT"}

    @property
    def numbers(self) -> list[Any]:
        """The numbers in it that are kept as arrays."""
        return [o for step in self.steps for o in step.operands if not isinstance(o, str) and _is_kept(o)]


def _updatable(step: Step) -> tuple[int, ...]:
    """Which operands the result may be written over."""
    if not step.real:
        return ()
    if (
        len(step.operands) == 1
        and step.function not in KERNELS
        and isinstance(getattr(np, step.function, None), np.ufunc)
    ):
        return (0,)
    return {"add": (0, 1), "multiply": (0, 1), "subtract": (0,), "divide": (0,)}.get(step.function, ())


def _updating(function: str, operands: list[str], k: int) -> str:
    """The statement that writes a step's result over operand ``k``, which is a NumPy scalar where arrays are 0-d.

    That takes 5 to 15 % off a sigmoid: each new array is memory that is not in the processor's cache.
    """
    mine = operands[k]
    if len(operands) == 1:
        return f"{mine} = {function}({mine}, {mine}) if {mine}.__class__ is ndarray else {function}({mine})"
    return f"{mine} {_SYMBOLS[function]}= {operands[1 - k]}"


def _is_kept(number: Any) -> bool:
    return number == number and (number != 0 or number.__class__ is int)


def _constant(number: Any) -> str:
    """A number in the formula: the array used for it beside the operands."""
    kept = "floats" if number.__class__ is float else "ints"
    return f"sig.{kept}[{number!r}]._array" if _is_kept(number) else repr(number)


def _call(function: str, operands: list[str]) -> str:
    symbol = _SYMBOLS.get(function)
    if function == "negative":
        return f"-{operands[0]}"
    if function == "mT":
        return f"{operands[0]}.mT"
    return f"{operands[0]} {symbol} {operands[1]}" if symbol else f"{function}({', '.join(operands)})"


def _renamed_at_end(lines: list[str], final: str, target: str) -> list[str]:
    start = f"{final} = "
    if lines and lines[-1].startswith(start):
        return [*lines[:-1], f"{target} = {lines[-1][len(start) :]}"]
    return [*lines, f"{target} = {final}"]


class _Type:
    """The dtype of a term, where known: real and floating."""

    kind = "f"

    @staticmethod
    def type(value: Any) -> Any:
        """A number of this dtype, which is what a plain number becomes beside a term."""
        return value


class _Size:
    """A size of a term: it fits, since the forward was computed with the same shapes."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


class Term(np.lib.mixins.NDArrayOperatorsMixin):
    """A value in a formula; ``dims`` is its number of dimensions, where known."""

    dtype = _Type()
    __hash__ = object.__hash__

    def __init__(self, formula: Formula, name: str, real: bool, whole: bool, dims: int | None = None) -> None:
        self.formula, self.name, self.real, self.whole, self.dims = formula, name, real, whole, dims

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        if self.dims is None:
            raise Opaque
        return self.dims

    @property
    def shape(self) -> tuple[_Size, ...]:
        """Its sizes, which are not known."""
        return tuple([_Size() for _ in range(self.ndim)])

    @property
    def T(self) -> Term:  # noqa: N802 - NumPy's name
        """A matrix, transposed."""
        return self.swapaxes(0, 1)

    def swapaxes(self, a: int, b: int) -> Term:
        """Two dimensions exchanged; a formula has steps for the last two only."""
        if {a, b} != {self.ndim - 2, self.ndim - 1}:
            raise Opaque
        return self._step("mT", (self,), True, self.dims)

    def __bool__(self) -> bool:
        raise Opaque

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Term:
        if method != "__call__" or kwargs:
            raise Opaque
        terms = [t for t in inputs if isinstance(t, Term)]
        real = _result_is_real(ufunc, any(t.real for t in terms))
        dims = self.dims if all(t.dims == self.dims for t in terms) else None
        if ufunc is np.matmul and (dims is None or len(terms) < 2):
            raise Opaque
        name = "matrix_product" if ufunc is np.matmul and dims == 2 else ufunc.__name__
        return self._step(name, inputs, real, dims)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Term:
        if function is not np.where or len(args) != 3 or kwargs or not all(_is_real(a) for a in args[1:]):
            raise Opaque
        return self._step("where", args, True)

    def noted(self, kernel: str, inputs: Any) -> Term:
        """A kernel of ours applied to this and others."""
        return self._step(kernel, inputs, True)

    def _step(self, function: str, inputs: Any, real: bool, dims: int | None = None) -> Term:
        operands = tuple([x.name if isinstance(x, Term) else x if x.__class__ is bool else _number(x) for x in inputs])
        whole = function not in _RESHAPING and any(x.whole for x in inputs if isinstance(x, Term))
        steps = self.formula.steps
        steps.append(Step(function, operands, f"t{len(steps)}", real, whole))
        return Term(self.formula, steps[-1].name, real, whole, dims)


def _number(value: Any) -> Any:
    if value.__class__ not in (int, float) or not -1e30 < value < 1e30:
        raise Opaque
    return value


def _is_real(value: Any) -> bool:
    return value.real if isinstance(value, Term) else value.__class__ in (int, float)


def _result_is_real(ufunc: Any, real: bool) -> bool:
    """Whether the result has the operands' real dtype (equal for all real dtypes) or is bool."""
    found = set()
    for letter in "efd" if real else "?":
        loops = [t for t in ufunc.types if t.startswith(letter * ufunc.nin + "->")]
        found.add(loops[0].split("->")[1].replace(letter, "same") if loops else "")
    kind = found.pop()
    if found or kind not in ("same", "?"):
        raise Opaque
    return real and kind == "same"


def formula_of(
    function: Callable[..., Any], arguments: dict[str, bool], rest: tuple[Any, ...] = (), ndim: int | None = None
) -> Formula | None:
    """The formula of a function of the named arrays (name -> whether it surely has the output's shape).

    ``rest`` are further arguments, known now; ``ndim`` says how many dimensions the arrays have, where all have as
    many.  ``None`` when the function is opaque, or its result is not real.
    """
    formula = Formula()
    terms = [Term(formula, name, True, whole, ndim) for name, whole in arguments.items()]
    try:
        value = function(*terms, *rest)
    except Exception:
        return None
    if not isinstance(value, Term) or not value.real:
        return None
    formula.result = value.name
    return formula
